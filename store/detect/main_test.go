package detect_test

import (
	"testing"

	"github.com/fenceline/fenceline/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m, storetest.NoLeaks) }

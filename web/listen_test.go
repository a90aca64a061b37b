package web_test

import (
	"testing"

	"github.com/fenceline/fenceline/web"
)

func TestAPortThatIsNoneIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:http", "[::1]:", "localhost:80x"} {
		if web.CheckListen(address, false, false) == nil {
			t.Errorf("%s is accepted", address)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:65535", "localhost:8080"} {
		if err := web.CheckListen(address, false, false); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

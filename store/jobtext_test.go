package store_test

import (
	"fmt"

	"github.com/fenceline/fenceline/store"
)

func jobText(j store.Job) string { return fmt.Sprintf("%+v", j) }

package main

import (
	"os"
	"testing"

	"github.com/fenceline/fenceline/store/storetest"
	"github.com/fenceline/fenceline/views/chrometest"
)

// asProgram makes this test binary be the program itself, so that the tests run
// real processes of what they were compiled with, race detector included. Its
// name is none of the program's own, so that it is handed on to the processes
// that the program starts.
const asProgram = "BE_THE_PROGRAM_UNDER_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	code := storetest.Run(m)
	chrometest.Stop()
	os.Exit(code)
}

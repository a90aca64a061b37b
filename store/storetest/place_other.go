//go:build !linux

package storetest

import "os"

// places are where test servers keep their files.
func places() []string { return []string{os.TempDir()} }

//go:build !unix

package process

import "syscall"

// Supported says whether processes can be paused here.
const Supported = false

func pause(int) error                  { return ErrUnsupported }
func resume(int) error                 { return ErrUnsupported }
func isPaused(int) bool                { return false }
func attributes() *syscall.SysProcAttr { return nil }

//go:build !unix

package process

import "syscall"

// Supported says whether processes can be paused here.
const Supported = false

// Pause is not possible here.
func Pause(int) error { return ErrUnsupported }

// Continue is not possible here.
func Continue(int) error               { return ErrUnsupported }
func isPaused(int) bool                { return false }
func attributes() *syscall.SysProcAttr { return nil }

//go:build !unix

package drill

import "syscall"

const supported = false

func pauseProcess(int) error           { return ErrUnsupported }
func continueProcess(int) error        { return ErrUnsupported }
func isPaused(int) bool                { return false }
func attributes() *syscall.SysProcAttr { return nil }

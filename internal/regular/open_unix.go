//go:build unix

package regular

import "syscall"

// openFlags keeps an open from waiting: without O_NONBLOCK, opening a named pipe
// waits until somebody writes into it. (os.Root itself opens with O_NOFOLLOW.)
const openFlags = syscall.O_NONBLOCK

//go:build unix

package regular

import "syscall"

// Without O_NONBLOCK, opening a named pipe waits until some program writes into it. os.Root itself opens with
// O_NOFOLLOW.
const openFlags = syscall.O_NONBLOCK

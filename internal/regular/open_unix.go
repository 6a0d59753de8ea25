//go:build unix

package regular

import "syscall"

// Without O_NONBLOCK, opening a named pipe waits until some program writes into it. O_NOFOLLOW is not needed here,
// because os.Root adds it by itself.
const openFlags = syscall.O_NONBLOCK

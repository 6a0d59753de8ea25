//go:build !unix

package regular

// openFlags is empty, because a directory of Windows holds no named pipes.
const openFlags = 0

//go:build !unix

package regular

// Windows has no named pipes in directories.
const openFlags = 0

//go:build !unix

package regular

// openFlags is empty, because Windows has no named pipes in directories.
const openFlags = 0

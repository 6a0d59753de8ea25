package file

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/ncruces/go-sqlite3"
)

// reservedBytes is the address space of a host's connections, 256 MB for each: the writer, the readers, and four that
// are open only for a moment. Reserved address space is not used memory.
const reservedBytes = (1 + maxReaders + 4) * 256 << 20

// If a connection cannot reserve its address space, for example under ulimit -v, SQLite panics in the goroutine that
// opens the connection. checkMemory reserves the space first, and returns an error instead.
func checkMemory(ctx context.Context, bytes int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = OutOfMemory(p); err == nil {
				panic(p)
			}
		}
	}()
	c, err := sqlite3.OpenContext(sqlite3.WithMaxMemory(ctx, bytes), ":memory:")
	if err != nil {
		return err
	}
	return c.Close()
}

// OutOfMemory returns an error if SQLite panicked with p because it could not reserve memory.
func OutOfMemory(p any) error {
	if cause, ok := p.(error); ok && errors.Is(cause, syscall.ENOMEM) {
		return fmt.Errorf("the limit of this process's address space is too low for SQLite, which reserves %d MB; raise it to at least 4 GB (ulimit -v 4194304), or remove it (ulimit -v unlimited): %w",
			reservedBytes>>20, cause)
	}
	return nil
}

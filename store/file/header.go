package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/ncruces/go-sqlite3"
)

// ApplicationID marks our databases: "mctx" in the header of the file.
const ApplicationID = 0x6d637478

// The parts of the SQLite file header that this package reads without SQLite, see
// https://sqlite.org/fileformat2.html#the_database_header.
const (
	headerBytes         = 100
	headerMagic         = "SQLite format 3\x00"
	headerApplicationID = 68
)

// inspect examines the file at path before SQLite opens it, because SQLite would create files beside a database of
// another program. `missing` is true if the database must be created. If the file must not be opened, the error is
// ErrForeign or errCorrupt.
//
// The header in the main file is reliable despite the write-ahead log, because create writes the host's mark before
// it switches to WAL mode. repairHeader writes a damaged mark again.
func inspect(path string) (missing bool, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, orphanedLog(path)
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	defer file.Close()

	header := make([]byte, headerBytes)
	n, err := io.ReadFull(file, header)
	switch {
	case errors.Is(err, io.EOF):
		return true, orphanedLog(path)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false, fmt.Errorf("%w: %s has %d bytes", errCorrupt, path, n)
	case err != nil:
		return false, fmt.Errorf("%w: %w", ErrCannotPersist, err)
	case string(header[:len(headerMagic)]) != headerMagic:
		return false, fmt.Errorf("%w: %s has no SQLite header", errCorrupt, path)
	}
	id := binary.BigEndian.Uint32(header[headerApplicationID:])
	if id == ApplicationID {
		return false, nil
	}
	version, err := versionOfFile(file)
	if err == nil && version == 0 {
		err = fmt.Errorf("%w: %s has application id %#x, ours is %#x", ErrForeign, path, id, ApplicationID)
	}
	return false, err
}

// SQLite would silently delete a write-ahead log without a database.
func orphanedLog(path string) error {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%w: %s is empty but has a write-ahead log", errCorrupt, path)
	}
	return nil
}

// create uses a rollback journal, so that the host's mark reaches the main file completely or not at all.
func create(path string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, Mode)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.BusyTimeout(busyTimeout); err != nil {
		return err
	}
	return conn.Exec(fmt.Sprintf(`PRAGMA application_id = %d`, ApplicationID))
}

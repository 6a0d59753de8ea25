package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// KeptCopies is how many copies of databases with an older schema stay on disk.
const KeptCopies = 2

func copyPath(path string, version int) string {
	return path + ".v" + strconv.Itoa(version) + ".bak"
}

// copyBefore copies the database before a migration from the schema `version` to a newer one. It then removes the
// oldest copies.
func (f *File) copyBefore(ctx context.Context, conn *sql.Conn, version int) error {
	target := copyPath(f.path, version)
	partial := target + ".partial"
	if err := vacuumInto(ctx, conn, partial); err != nil {
		return errors.Join(err, removeIfExists(partial))
	}
	if err := os.Rename(partial, target); err != nil {
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	f.log.Info("database copied", "path", f.path, "copy", target)
	return f.removeOldCopies()
}

// vacuumInto first creates the copy with the mode 0600, because VACUUM INTO alone would create a file that other users
// can read. VACUUM INTO does not sync the copy either, so vacuumInto does it afterwards.
func vacuumInto(ctx context.Context, conn *sql.Conn, target string) error {
	file, err := os.OpenFile(target, os.O_CREATE|os.O_TRUNC|os.O_RDWR, Mode)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	defer file.Close()
	if _, err := conn.ExecContext(ctx, `VACUUM INTO ?`, target); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	return nil
}

func (f *File) removeOldCopies() error {
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	var versions []int
	for _, entry := range entries {
		number, isCopy := strings.CutPrefix(entry.Name(), fileName+".v")
		number, isBak := strings.CutSuffix(number, ".bak")
		if version, err := strconv.Atoi(number); isCopy && isBak && err == nil {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	for _, version := range versions[:max(0, len(versions)-KeptCopies)] {
		if err := removeIfExists(copyPath(f.path, version)); err != nil {
			return fmt.Errorf("%w: %w", ErrCannotPersist, err)
		}
	}
	return nil
}

package file

import (
	"fmt"
	"os"
	"slices"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/ioutil"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"
)

// versionOf finds out which version of the schema a database really has. It compares the tables with those of each
// released schema, and returns 0 if none matches. Some versions have the same tables and differ only in their rows. In
// that case, versionOf returns `stored`, the version in the file's header, if it is one of them.
//
// versionOf is slow, because it creates each released schema in memory. So it is called only if the header cannot be
// right.
func versionOf(c *sqlite3.Conn, stored int) (version int, err error) {
	has, err := definitions(c)
	if err != nil || len(has) == 0 {
		return 0, err
	}
	ours, err := sqlite3.Open(":memory:")
	if err != nil {
		return 0, err
	}
	defer ours.Close()
	for _, m := range Released() {
		if err := ours.Exec(m.SQL); err != nil {
			return 0, fmt.Errorf("migration %s: %w", m.Name, err)
		}
		released, err := definitions(ours)
		if err != nil {
			return 0, err
		}
		if slices.Equal(has, released) && (version == 0 || m.Version == stored) {
			version = m.Version
		}
	}
	return version, nil
}

func definitions(c *sqlite3.Conn) (all []string, err error) {
	err = Scan(c, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type, name`,
		func(row *sqlite3.Stmt) { all = append(all, row.ColumnText(0)) })
	return all, err
}

// The file may belong to another program. So versionOfFile takes no lock, and does not let SQLite create files beside
// it.
func versionOfFile(file *os.File) (int, error) {
	name := fmt.Sprintf("magicctx-%p", file) // two callers may inspect the same file at the same time
	readervfs.Create(name, ioutil.NewSizeReaderAt(file))
	defer readervfs.Delete(name)
	c, err := sqlite3.OpenFlags("file:"+name+"?vfs=reader", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return versionOf(c, 0)
}

package store

import (
	"context"
	"database/sql"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/magicctx/magicctx-host/store/file"
)

// update runs f in one immediate write transaction. It commits unless f returns
// an error or panics. f must not wait for anything but SQLite.
func (s *Store) update(ctx context.Context, f func(*sql.Tx) error) error {
	return s.file.Explain(ctx, func() error {
		tx, err := s.file.Writer().BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
		if err != nil {
			return err
		}
		defer tx.Rollback() // no-op after Commit
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	}())
}

// view runs f in one read transaction, so that everything f reads belongs to
// one state. f gets SQLite's own connection, because scanning 10,000 rows
// through database/sql takes three times as long.
func (s *Store) view(ctx context.Context, f func(*sqlite3.Conn) error) error {
	return s.file.Explain(ctx, func() error {
		conn, err := s.file.Reader().Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return conn.Raw(func(driverConn any) (err error) {
			c := driverConn.(driver.Conn).Raw()
			defer c.SetInterrupt(c.SetInterrupt(ctx))
			defer c.Begin().End(&err)
			return f(c)
		})
	}())
}

// scan reads the rows of a query.
var scan = file.Scan

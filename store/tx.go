package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
)

// update runs f in one immediate write transaction. It commits unless f returns
// an error or panics. f must not wait for anything but SQLite.
func (s *Store) update(ctx context.Context, f func(*sql.Tx) error) error {
	return s.note(ctx, func() error {
		tx, err := s.write.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
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
	return s.note(ctx, func() error {
		conn, err := s.read.Conn(ctx)
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

// note runs explain on err, and marks the database for a check if err means
// damage.
func (s *Store) note(ctx context.Context, err error) error {
	if meansDamage(err) {
		s.suspect(err)
	}
	return explain(ctx, err)
}

// scan runs a query and calls row for each row. row must copy every value that
// it keeps; ColumnText copies.
func scan(c *sqlite3.Conn, query string, row func(*sqlite3.Stmt), args ...any) (err error) {
	stmt, _, err := c.Prepare(query)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for i, arg := range args {
		if err := bind(stmt, i+1, arg); err != nil {
			return err
		}
	}
	for stmt.Step() {
		row(stmt)
	}
	return stmt.Err()
}

func bind(stmt *sqlite3.Stmt, param int, arg any) error {
	switch arg := arg.(type) {
	case string:
		return stmt.BindText(param, arg)
	case int:
		return stmt.BindInt(param, arg)
	case int64:
		return stmt.BindInt64(param, arg)
	}
	return fmt.Errorf("bind %T: not a type of this store", arg)
}

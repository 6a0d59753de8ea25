package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/magicctx/magicctx-host/store/file"
)

// A transaction is one running write transaction. It uses SQLite's own connection, because the user waits for
// the commit of every pass: database/sql would wake a goroutine for each transaction and convert every
// argument twice.
type transaction struct {
	conn     *sqlite3.Conn
	prepared statements
	fault    func(query string) error // see Store.fault
}

// statements are the prepared statements of a connection, by their text. They stay prepared until the
// connection is closed, so all texts must be constants.
type statements map[string]statement

type statement struct {
	*sqlite3.Stmt
	params int
}

// close finalizes all statements. Otherwise SQLite would not close their connection.
func (s statements) close(*sqlite3.Conn) error {
	var errs []error
	for query, stmt := range s {
		errs = append(errs, stmt.Close())
		delete(s, query)
	}
	return errors.Join(errs...)
}

// update runs f in one immediate write transaction. If f returns an error or panics, update rolls back;
// otherwise it commits. f must not wait for anything but SQLite.
func (s *db) update(ctx context.Context, f func(*transaction) error) error {
	if err := s.file.InPlace(); err != nil {
		return err
	}
	err := func() error {
		conn, err := s.file.Writer().Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return conn.Raw(func(driverConn any) error {
			c := driverConn.(driver.Conn).Raw()
			defer c.SetInterrupt(c.SetInterrupt(ctx))
			tx := &transaction{conn: c, prepared: s.statements, fault: s.fault}
			if _, err := tx.exec(`BEGIN IMMEDIATE`); err != nil {
				return err
			}
			ctx = workOf(ctx)
			c.SetInterrupt(ctx)
			return tx.run(f)
		})
	}()
	return s.file.Explain(ctx, err)
}

// run calls f in a transaction that has begun, and commits or rolls back.
func (tx *transaction) run(f func(*transaction) error) (err error) {
	isOver := false
	defer func() {
		if !isOver {
			err = errors.Join(err, tx.rollback())
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	if _, err := tx.exec(`COMMIT`); err != nil {
		return err
	}
	isOver = true
	return nil
}

// rollback also works after the transaction's context has ended. After some errors, SQLite has already rolled
// back itself.
func (tx *transaction) rollback() error {
	if tx.conn.GetAutocommit() {
		return nil
	}
	defer tx.conn.SetInterrupt(tx.conn.SetInterrupt(context.Background()))
	_, err := tx.exec(`ROLLBACK`)
	return err
}

// exec runs one statement and returns how many rows it changed.
func (tx *transaction) exec(query string, args ...any) (changed int64, err error) {
	stmt, err := tx.prepare(query, args)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(stmt.Exec(), stmt.ClearBindings()); err != nil {
		return 0, err
	}
	return tx.conn.Changes(), nil
}

// exists reports whether a query has a row.
func (tx *transaction) exists(query string, args ...any) (bool, error) {
	stmt, err := tx.prepare(query, args)
	if err != nil {
		return false, err
	}
	found := stmt.Step()
	return found, errors.Join(stmt.Err(), stmt.Reset(), stmt.ClearBindings())
}

// scan reads the rows of a query.
func (tx *transaction) scan(query string, row func(*sqlite3.Stmt), args ...any) error {
	stmt, err := tx.prepare(query, args)
	if err != nil {
		return err
	}
	for stmt.Step() {
		row(stmt.Stmt)
	}
	return errors.Join(stmt.Err(), stmt.Reset(), stmt.ClearBindings())
}

// prepare returns the statement of query with args bound.
func (tx *transaction) prepare(query string, args []any) (statement, error) {
	if tx.fault != nil {
		if err := tx.fault(query); err != nil {
			return statement{}, err
		}
	}
	stmt, ok := tx.prepared[query]
	if !ok {
		made, tail, err := tx.conn.PrepareFlags(query, sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return stmt, err
		}
		if strings.TrimSpace(tail) != "" {
			return stmt, errors.Join(fmt.Errorf("more than one statement: %s", query), made.Close())
		}
		stmt = statement{made, made.BindCount()}
		tx.prepared[query] = stmt
	}
	if len(args) != stmt.params {
		return stmt, fmt.Errorf("%d arguments for %d parameters: %s", len(args), stmt.params, query)
	}
	for i, arg := range args {
		if err := file.Bind(stmt.Stmt, i+1, arg); err != nil {
			return stmt, err
		}
	}
	return stmt, nil
}

// view runs f in one read transaction, so that all reads of f see one state. f gets SQLite's own connection,
// because scanning 10,000 rows through database/sql takes three times as long.
func (s *db) view(ctx context.Context, f func(*sqlite3.Conn) error) error {
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

package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store/file"
)

// A DB is the open database file, with methods that run transactions on it.
type DB struct {
	*file.File
	Log   *slog.Logger
	Clock clock.Clock

	// MemoryWrites counts the transactions of this process that have stored or changed memories or notes.
	MemoryWrites atomic.Int64

	// `statements` belongs to the writer's connection. Only the holder of this connection may use it.
	statements statements

	// Fault is nil except in tests. It is called before each statement of a write transaction. If it returns an error,
	// the statement fails.
	Fault func(query string) error
}

// Open opens the database in o.Dir, or creates it, and migrates it to the newest schema.
func Open(ctx context.Context, o file.Options, migrations []file.Migration) (*DB, error) {
	d := &DB{Log: o.Log, Clock: o.Clock, statements: make(statements)}
	var err error
	if d.File, err = file.Open(ctx, o, migrations, d.statements.close); err != nil {
		return nil, err
	}
	return d, nil
}

// A Tx is one running write transaction. It uses SQLite's connection directly: database/sql would wake a goroutine for
// each transaction and convert every argument twice, while the user waits for the commit.
type Tx struct {
	Conn *sqlite3.Conn
	// WritesMemories is set by a transaction that stores or changes memories or notes.
	WritesMemories bool

	prepared statements
	fault    func(query string) error // see DB.Fault
}

// statements maps the texts of SQL statements to prepared statements. A statement stays prepared until the connection
// is closed. So all texts must be constants, or the map would grow without end.
type statements map[string]statement

type statement struct {
	*sqlite3.Stmt
	params int
}

// SQLite does not close a connection that still has prepared statements.
func (s statements) close(*sqlite3.Conn) error {
	var errs []error
	for query, stmt := range s {
		errs = append(errs, stmt.Close())
		delete(s, query)
	}
	return errors.Join(errs...)
}

// Update runs f in one immediate write transaction. If f returns an error or panics, the transaction is rolled back. f
// must not wait for anything but SQLite.
func (d *DB) Update(ctx context.Context, f func(*Tx) error) error {
	if err := d.InPlace(); err != nil {
		return err
	}
	err := func() error {
		conn, err := d.Writer().Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return conn.Raw(func(driverConn any) error {
			c := driverConn.(driver.Conn).Raw()
			defer c.SetInterrupt(c.SetInterrupt(ctx))
			tx := &Tx{Conn: c, prepared: d.statements, fault: d.Fault}
			if _, err := tx.Exec(`BEGIN IMMEDIATE`); err != nil {
				return err
			}
			ctx = workOf(ctx)
			c.SetInterrupt(ctx)
			err := tx.run(f)
			if tx.WritesMemories {
				d.MemoryWrites.Add(1)
			}
			return err
		})
	}()
	return d.Explain(ctx, err)
}

func (tx *Tx) run(f func(*Tx) error) (err error) {
	isOver := false
	defer func() {
		if !isOver {
			err = errors.Join(err, tx.rollback())
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	if _, err := tx.Exec(`COMMIT`); err != nil {
		return err
	}
	isOver = true
	return nil
}

// rollback works even if the transaction's context has ended. After some errors, SQLite itself has already rolled the
// transaction back. Then rollback does nothing.
func (tx *Tx) rollback() error {
	if tx.Conn.GetAutocommit() {
		return nil
	}
	defer tx.Conn.SetInterrupt(tx.Conn.SetInterrupt(context.Background()))
	_, err := tx.Exec(`ROLLBACK`)
	return err
}

func (tx *Tx) Exec(query string, args ...any) (changed int64, err error) {
	stmt, err := tx.prepare(query, args)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(stmt.Exec(), stmt.ClearBindings()); err != nil {
		return 0, err
	}
	return tx.Conn.Changes(), nil
}

func (tx *Tx) Exists(query string, args ...any) (bool, error) {
	stmt, err := tx.prepare(query, args)
	if err != nil {
		return false, err
	}
	found := stmt.Step()
	return found, errors.Join(stmt.Err(), stmt.Reset(), stmt.ClearBindings())
}

func (tx *Tx) Scan(query string, row func(*sqlite3.Stmt), args ...any) error {
	stmt, err := tx.prepare(query, args)
	if err != nil {
		return err
	}
	for stmt.Step() {
		row(stmt.Stmt)
	}
	return errors.Join(stmt.Err(), stmt.Reset(), stmt.ClearBindings())
}

func (tx *Tx) prepare(query string, args []any) (statement, error) {
	if tx.fault != nil {
		if err := tx.fault(query); err != nil {
			return statement{}, err
		}
	}
	stmt, ok := tx.prepared[query]
	if !ok {
		made, tail, err := tx.Conn.PrepareFlags(query, sqlite3.PREPARE_PERSISTENT)
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

// View runs f in one read transaction. f gets SQLite's connection, because scanning 10,000 rows through database/sql
// takes three times as long.
func (d *DB) View(ctx context.Context, f func(*sqlite3.Conn) error) error {
	return d.Explain(ctx, func() error {
		conn, err := d.Reader().Conn(ctx)
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

// Edit calls the function `write` in one transaction on the database in dir, even while a host has the database open.
// See file.Edit for the errors.
func Edit(ctx context.Context, dir string, write func(*Tx) error) error {
	return file.Edit(ctx, dir, func(c *sqlite3.Conn) error {
		tx := &Tx{Conn: c, prepared: make(statements)}
		defer tx.prepared.close(c)
		return write(tx)
	})
}

// Patient returns a context for a transaction that waits for another program's lock no longer than `patience`. Once the
// transaction has the lock, only ctx limits its time, because the first transaction of a long session may take longer.
func Patient(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(ctx, workKey{}, ctx), patience)
}

type workKey struct{}

func workOf(ctx context.Context) context.Context {
	if work, ok := ctx.Value(workKey{}).(context.Context); ok {
		return work
	}
	return ctx
}

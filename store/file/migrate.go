package file

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"

	"github.com/ncruces/go-sqlite3/driver"
)

//go:embed schema.sql
var schema string

// A Migration brings the schema to Version.
type Migration struct {
	Version int
	Name    string
	SQL     string
}

// firstVersion is the schema version of the first release. Builds before this release have left databases of lower
// versions, and no migration updates them.
const firstVersion = 38

// Released returns the steps from an empty database to the schema of this build. A release that changes the schema
// appends a step. It must not change a text of an earlier release, because a host recognises a database by these
// texts.
func Released() []Migration { return []Migration{{firstVersion, "schema.sql", schema}} }

func newestVersion() int {
	released := Released()
	return released[len(released)-1].Version
}

// prepareSchema refuses a newer schema, and a schema from before the first release. It migrates any other schema, and
// returns the version after the migration.
func (f *File) prepareSchema(ctx context.Context, migrations []Migration) (int, error) {
	conn, err := f.write.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()

	var stored int
	if err := conn.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&stored); err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	present, err := tablesIn(ctx, conn)
	if err != nil {
		return 0, fmt.Errorf("read schema: %w", err)
	}
	newest := migrations[len(migrations)-1].Version
	if stored, err = f.repairHeader(ctx, conn, stored, newest); err != nil {
		return 0, fmt.Errorf("read header: %w", err)
	}
	if stored > newest {
		return 0, newerSchema(stored, newest)
	}
	if 0 < stored && stored < firstVersion {
		return 0, olderSchema(stored, newest)
	}
	if err := checkTables(stored, present); err != nil {
		return 0, err
	}
	if err := f.removePlanted(conn); err != nil {
		return 0, fmt.Errorf("remove triggers and views of other programs: %w", err)
	}
	if stored == newest { // a migration checks all foreign keys itself
		if err := f.suspectOrphans(ctx, conn); err != nil {
			return 0, err
		}
	}
	if err := f.checkSuspect(ctx, conn); err != nil {
		return 0, err
	}
	if stored == newest {
		return newest, nil
	}
	if stored > 0 {
		if err := f.copyBefore(ctx, conn, stored); err != nil {
			return 0, fmt.Errorf("copy database before migration: %w", err)
		}
	}
	for _, m := range migrations {
		if m.Version <= stored {
			continue
		}
		if err := migrate(ctx, conn, m); err != nil {
			return 0, fmt.Errorf("migration %s: %w", m.Name, err)
		}
		f.log.Info("database migrated", "path", f.path, "version", m.Version)
	}
	return newest, nil
}

func (f *File) removePlanted(conn *sql.Conn) error {
	return conn.Raw(func(c any) error {
		removed, err := removePlanted(c.(driver.Conn).Raw())
		for _, p := range removed {
			f.log.Warn("another program had put this into the database: removed", "path", f.path, "object", p.String())
		}
		return err
	})
}

func tablesIn(ctx context.Context, conn *sql.Conn) (statements map[string]string, err error) {
	rows, err := conn.QueryContext(ctx, selectTables)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	statements = make(map[string]string)
	for rows.Next() {
		var name, statement string
		if err := rows.Scan(&name, &statement); err != nil {
			return nil, err
		}
		statements[name] = statement
	}
	return statements, rows.Err()
}

// migrate runs one migration. It first switches foreign keys off. Otherwise, rebuilding a table would delete the rows
// that refer to this table. Before the commit, it checks all foreign keys.
func migrate(ctx context.Context, conn *sql.Conn, m Migration) (err error) {
	if _, err := conn.ExecContext(ctx, `PRAGMA foreign_keys = OFF`); err != nil {
		return err
	}
	defer func() {
		_, onErr := conn.ExecContext(context.WithoutCancel(ctx), `PRAGMA foreign_keys = ON`)
		if err == nil {
			err = onErr
		}
	}()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, m.SQL); err != nil {
		return err
	}
	if err := checkForeignKeys(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, m.Version)); err != nil {
		return err
	}
	return tx.Commit()
}

func checkForeignKeys(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `SELECT "table", parent FROM pragma_foreign_key_check LIMIT 1`)
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Next() {
		var table, parent string
		if err := rows.Scan(&table, &parent); err != nil {
			return err
		}
		return fmt.Errorf("a row of %s has no parent in %s", table, parent)
	}
	return rows.Err()
}

package file

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// The map `prepared` holds the prepared statements of each reading connection, by their SQL text. Preparing a statement
// takes longer than reading a few rows.
var prepared sync.Map // *sqlite3.Conn to map[string]*sqlite3.Stmt

func finalize(c *sqlite3.Conn) error {
	var errs []error
	if statements, ok := prepared.LoadAndDelete(c); ok {
		for _, stmt := range statements.(map[string]*sqlite3.Stmt) {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(errs...)
}

// Scan runs a query and passes each of its rows to the callback. The callback must copy every value that it keeps. Only
// ColumnText already returns a copy.
func Scan(c *sqlite3.Conn, query string, row func(*sqlite3.Stmt), args ...any) (err error) {
	kept, _ := prepared.Load(c)
	statements, _ := kept.(map[string]*sqlite3.Stmt)
	stmt := statements[query]
	if stmt == nil {
		if stmt, _, err = c.Prepare(query); err != nil {
			return err
		}
	}
	delete(statements, query) // row may run the same query
	defer func() {
		if statements == nil || statements[query] != nil || errors.Join(stmt.Reset(), stmt.ClearBindings()) != nil {
			stmt.Close()
			return
		}
		statements[query] = stmt
	}()
	for i, arg := range args {
		if err := Bind(stmt, i+1, arg); err != nil {
			return err
		}
	}
	for stmt.Step() {
		row(stmt)
	}
	return stmt.Err()
}

func Bind(stmt *sqlite3.Stmt, param int, arg any) error {
	switch arg := arg.(type) {
	case nil:
		return stmt.BindNull(param)
	case string:
		return stmt.BindText(param, arg)
	case int:
		return stmt.BindInt(param, arg)
	case int64:
		return stmt.BindInt64(param, arg)
	case bool:
		return stmt.BindBool(param, arg)
	case float64:
		return stmt.BindFloat(param, arg)
	case []byte:
		return stmt.BindBlob(param, arg)
	}
	return fmt.Errorf("bind %T: not a type of this store", arg)
}

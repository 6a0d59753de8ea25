package file

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// Scan runs a query and calls row for each row. row must copy every value that it keeps. ColumnText already
// returns a copy.
func Scan(c *sqlite3.Conn, query string, row func(*sqlite3.Stmt), args ...any) (err error) {
	stmt, _, err := c.Prepare(query)
	if err != nil {
		return err
	}
	defer stmt.Close()
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

// Bind binds an argument to a parameter of a statement. Parameters are numbered from 1.
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
	}
	return fmt.Errorf("bind %T: not a type of this store", arg)
}

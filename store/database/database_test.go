package database_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/storetest"
)

const insertSession = `INSERT INTO sessions (harness, session_id, updated_at) VALUES ('opencode', 'ses_1', 1)`

// A write transaction must take its lock at its beginning. If it took the lock only at its first write, it could fail
// halfway.
func TestWriteTransactionLocksAtItsBegin(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	other, err := sqlite3.Open(s.Path())
	storetest.Must(t, err)
	t.Cleanup(func() { storetest.Must(t, other.Close()) })
	storetest.Must(t, other.BusyTimeout(0))
	storetest.Must(t, s.Update(t.Context(), func(*database.Tx) error {
		if err := other.Exec(`BEGIN IMMEDIATE`); !errors.Is(err, sqlite3.BUSY) {
			t.Errorf("another program could begin to write: %v", err)
		}
		return nil
	}))
}

func TestPanicRollsBackAndFreesTheWriter(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	ctx := t.Context()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		s.Update(ctx, func(tx *database.Tx) error {
			_, err := tx.Exec(insertSession)
			storetest.Must(t, err)
			panic("inside")
		})
	}()
	if _, found, err := s.Load(ctx, storetest.Key); found || err != nil {
		t.Errorf("the transaction left its row: %v, %v", found, err)
	}
	storetest.Must(t, s.CommitPass(ctx, storetest.Commit(1)))
}

// The patience of a context must bound only the wait for the lock. The bug: it also bounded the transaction itself, so
// a session of 100,000 messages could not be stored.
func TestPatienceBoundsOnlyTheWaitForTheLock(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	const patience = 50 * time.Millisecond
	ctx, cancel := database.Patient(t.Context(), patience)
	defer cancel()
	err := s.Update(ctx, func(tx *database.Tx) error {
		<-ctx.Done() // the transaction's own work takes longer than patience
		_, err := tx.Exec(`INSERT INTO tidies (at) VALUES (1)`)
		return err
	})
	if err != nil {
		t.Errorf("work with the lock: %v", err)
	}
	caller, leave := context.WithCancel(t.Context())
	ctx, cancel = database.Patient(caller, patience)
	defer cancel()
	err = s.Update(ctx, func(tx *database.Tx) error {
		leave()
		_, err := tx.Exec(`INSERT INTO tidies (at) VALUES (2)`)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the caller has left: %v", err)
	}
}

func TestAStatementNeedsAllItsArguments(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	err := s.Update(t.Context(), func(tx *database.Tx) error {
		if _, err := tx.Exec(insertSession); err != nil {
			return err
		}
		const query = `DELETE FROM tidies WHERE at = ? AND at = ?`
		if _, err := tx.Exec(query, 1, 2); err != nil {
			t.Error(err)
		}
		_, err := tx.Exec(query, 1)
		return err
	})
	if err == nil {
		t.Error("a statement ran with the arguments of an earlier call")
	}
	if _, found, _ := s.Load(t.Context(), storetest.Key); found {
		t.Error("the failed transaction left its row")
	}
}

package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// A run of the historian holds the lease of its session, so that no two runs
// summarise the same messages. A run that hangs loses its lease after LeaseTerm,
// and another run may begin. What the first one then still publishes is refused.
const (
	LeaseTerm   = 5 * time.Minute
	LeaseRenews = time.Minute // how often a run renews its lease
)

var (
	// ErrLeaseLost says that a run no longer holds the lease of its session, because
	// it did not renew the lease in time or because the session was deleted. Nothing
	// was stored. The run must end; a new run may acquire the lease.
	ErrLeaseLost = errors.New("the historian's lease is lost")
	// ErrStale says that the history has changed since the run began: a revert took
	// messages that the run has read, or other compartments were stored. Nothing was
	// stored. A new run must begin from the present history.
	ErrStale = errors.New("the history has changed since the run began")
)

//go:embed query/lease_acquire.sql
var leaseAcquireSQL string

// HoldLeases lets each lease last until it is released. A replay calls it before its first
// run: its clock leaps over the minutes in which a run renews its lease.
func (s *Store) HoldLeases() { s.leaseTerm = heldTerm.Milliseconds() }

// heldTerm is longer than any recorded session.
const heldTerm = 100 * 365 * 24 * time.Hour

// AcquireLease takes the lease of a session for holder, which is a random name of
// one run. acquired is false if another run holds it, or if the session is
// unknown. A holder that acquires its own lease again prolongs it.
func (s *Store) AcquireLease(ctx context.Context, key Key, holder string) (acquired bool, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		if err := ensureHistory(tx, key); err != nil {
			return err
		}
		now := s.clock.Now()
		n, err := tx.exec(leaseAcquireSQL, key.Harness, key.Session, holder, now, now+s.leaseTerm)
		acquired = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("acquire lease of %s: %w", key, err)
	}
	return acquired, nil
}

// RenewLease prolongs the lease of holder by LeaseTerm. isHeld is false if the
// lease is lost; the run must then end.
func (s *Store) RenewLease(ctx context.Context, key Key, holder string) (isHeld bool, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		now := s.clock.Now()
		n, err := tx.exec(`
			UPDATE histories
			SET expires_at = ?5
			WHERE harness = ?1 AND session_id = ?2 AND holder = ?3 AND holder <> '' AND expires_at > ?4`,
			key.Harness, key.Session, holder, now, now+s.leaseTerm)
		isHeld = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("renew lease of %s: %w", key, err)
	}
	return isHeld, nil
}

// ReleaseLease gives the lease of holder back. If another run holds it, nothing
// happens.
func (s *Store) ReleaseLease(ctx context.Context, key Key, holder string) error {
	err := s.update(ctx, func(tx *transaction) error {
		_, err := tx.exec(`
			UPDATE histories
			SET holder = '', acquired_at = 0, expires_at = 0, cut = 0
			WHERE harness = ?1 AND session_id = ?2 AND holder = ?3`,
			key.Harness, key.Session, holder)
		return err
	})
	if err != nil {
		return fmt.Errorf("release lease of %s: %w", key, err)
	}
	return nil
}

// checkLease fails with ErrLeaseLost unless holder has the lease now, and with
// ErrStale if a revert has taken the message last since the lease was acquired.
func checkLease(tx *transaction, key Key, holder string, last int, now int64) error {
	isHeld, cut := false, 0
	err := tx.scan(`
		SELECT cut
		FROM histories
		WHERE harness = ?1 AND session_id = ?2 AND holder = ?3 AND holder <> '' AND expires_at > ?4`,
		func(row *sqlite3.Stmt) { isHeld, cut = true, row.ColumnInt(0) },
		key.Harness, key.Session, holder, now)
	switch {
	case err != nil:
		return err
	case !isHeld:
		return ErrLeaseLost
	case cut > 0 && last >= cut:
		return fmt.Errorf("%w: message %d was reverted", ErrStale, cut)
	}
	return nil
}

// releaseLeases gives all leases back. One process has the store open, so when it
// is opened no run holds a lease. It reads first, as healClaims does.
func (s *Store) releaseLeases(ctx context.Context) error {
	held := 0
	err := s.view(ctx, func(c *sqlite3.Conn) error {
		return scan(c, `SELECT count(*) FROM histories WHERE holder <> ''`, func(row *sqlite3.Stmt) { held = row.ColumnInt(0) })
	})
	if err == nil && held > 0 {
		err = s.update(ctx, func(tx *transaction) error {
			_, err := tx.exec(`UPDATE histories SET holder = '', acquired_at = 0, expires_at = 0, cut = 0 WHERE holder <> ''`)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("release leases of historians: %w", err)
	}
	return nil
}

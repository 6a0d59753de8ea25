package work

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

// A run holds the lease of its work, so that two runs never do the same work. A run that hangs does not renew its
// lease, and loses it after LeaseTerm. Another run may then begin. If the first run continues later, the store refuses
// its publication.
const (
	LeaseTerm   = 5 * time.Minute
	LeaseRenews = time.Minute // how often a run renews its lease
)

var (
	// ErrLeaseLost means that a run did not renew its lease in time, or that the session was deleted. Nothing is
	// written. The run must end, and a new one may begin.
	ErrLeaseLost = errors.New("the run's lease is lost")
	// ErrStale means that the history has changed since the run began: a revert removed messages that the run has
	// read, or other compartments were stored. Nothing is written. A new run must begin with the present history.
	ErrStale = errors.New("the history has changed since the run began")
)

//go:embed query/lease_acquire.sql
var leaseAcquireSQL string

type Leases struct {
	db   *database.DB
	term time.Duration
}

func NewLeases(db *database.DB) *Leases { return &Leases{db, LeaseTerm} }

// Hold makes each lease last until it is released. A replay needs this: its clock jumps, so a run could not renew its
// lease in time.
func (s *Leases) Hold() { s.term = heldTerm }

// heldTerm is longer than any recorded session.
const heldTerm = 100 * 365 * 24 * time.Hour

// Acquire gives the lease of w to `holder`, which is the unique name of one run. If another run holds the lease, or if
// the session is unknown, acquired is false. A run that already holds the lease prolongs it.
func (s *Leases) Acquire(ctx context.Context, w Work, holder string) (acquired bool, err error) {
	err = s.db.Update(ctx, func(tx *database.Tx) error {
		if err := ensureWork(tx, w); err != nil {
			return err
		}
		now := s.db.Clock.Now()
		n, err := tx.Exec(leaseAcquireSQL, w.Subject.String(), w.Agent, holder, now, now+s.term.Milliseconds())
		acquired = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("acquire lease of the %s: %w", w, err)
	}
	return acquired, nil
}

// Renew prolongs the lease of the run `holder` by LeaseTerm. If the run has lost the lease, isHeld is false and the run
// must end.
func (s *Leases) Renew(ctx context.Context, w Work, holder string) (isHeld bool, err error) {
	err = s.db.Update(ctx, func(tx *database.Tx) error {
		now := s.db.Clock.Now()
		n, err := tx.Exec(`
			UPDATE agent_work
			SET expires_at = ?5
			WHERE subject = ?1 AND agent = ?2 AND holder = ?3 AND holder <> '' AND expires_at > ?4`,
			w.Subject.String(), w.Agent, holder, now, now+s.term.Milliseconds())
		isHeld = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("renew lease of the %s: %w", w, err)
	}
	return isHeld, nil
}

// Release releases the lease of holder, and no other.
func (s *Leases) Release(ctx context.Context, w Work, holder string) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Exec(`
			UPDATE agent_work
			SET holder = '', acquired_at = 0, expires_at = 0, cut = 0
			WHERE subject = ?1 AND agent = ?2 AND holder = ?3`,
			w.Subject.String(), w.Agent, holder)
		return err
	})
	if err != nil {
		return fmt.Errorf("release lease of the %s: %w", w, err)
	}
	return nil
}

// CheckLease returns ErrLeaseLost if the run `holder` does not have the lease. It returns ErrStale if a revert has
// removed the message with the ordinal `last` since the run acquired the lease.
func CheckLease(tx *database.Tx, w Work, holder string, last int, now int64) error {
	isHeld, cut := false, 0
	err := tx.Scan(`
		SELECT cut
		FROM agent_work
		WHERE subject = ?1 AND agent = ?2 AND holder = ?3 AND holder <> '' AND expires_at > ?4`,
		func(row *sqlite3.Stmt) { isHeld, cut = true, row.ColumnInt(0) },
		w.Subject.String(), w.Agent, holder, now)
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

// ReleaseAll releases all leases. Open calls it, because no run exists at that time. If there is no lease, ReleaseAll
// only reads, so Open need not wait for the write lock.
func (s *Leases) ReleaseAll(ctx context.Context) error {
	held := 0
	err := s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, `SELECT count(*) FROM agent_work WHERE holder <> ''`, func(row *sqlite3.Stmt) { held = row.ColumnInt(0) })
	})
	if err == nil && held > 0 {
		err = s.db.Update(ctx, func(tx *database.Tx) error {
			_, err := tx.Exec(`UPDATE agent_work SET holder = '', acquired_at = 0, expires_at = 0, cut = 0 WHERE holder <> ''`)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("release leases of agents: %w", err)
	}
	return nil
}

package indexing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/embedding"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
)

// A Keeper keeps the index up to date while the host runs. After a pass and at the end of a turn, the host only notes
// that the session has changed. Soon afterwards, a worker reads the messages from the harness's own store. Unlike the
// messages of a pass, the store has the exit status of each command, and answers that no pass has seen yet.
type Keeper struct {
	Options
	mu sync.Mutex
	// isRunning means that a worker reads the waiting sessions.
	waiting   map[store.Key]place
	isRunning bool
	// `told` is the last problem that was logged. The keeper logs the same problem only once, not after each pass.
	told        string
	isEmbedding bool
}

type place struct {
	directory, project string
	config             schema.Config
}

type Options struct {
	// If Dir is "", there is no index.
	Dir        string
	Sessions   *session.Sessions
	Background *background.Work
	// Embeddings may be nil.
	Embeddings *embedding.Source
	Log        *slog.Logger
	// After is how long the keeper waits after a call of Note. 0 means two seconds.
	After time.Duration
}

// afterPass delays the worker after a pass. Directly after a pass, the harness needs the processor. A later read also
// finds the messages of several passes at once.
const afterPass = 2 * time.Second

// The worker pauses KeepShare times as long as it works, so it uses only about a twentieth of the time. The indexer
// makes such pauses after each transaction. When a session is done, the keeper adds the rest of the pause.
const KeepShare = 20

// pauseAfter returns how long the worker still has to pause after a session. `took` is the time that the session took,
// including the pauses of the indexer, and `rested` is the sum of these pauses.
func pauseAfter(took, rested time.Duration) time.Duration {
	return KeepShare*(took-rested) - rested
}

func NewKeeper(o Options) *Keeper {
	if o.After == 0 {
		o.After = afterPass
	}
	return &Keeper{Options: o, waiting: map[store.Key]place{}}
}

func (k *Keeper) Feature() pass.Feature {
	return pass.Feature{Done: func(_ context.Context, ps *pass.Pass) { k.Note(ps.Session, ps.Config) }}
}

// Note records that a session may have new messages. The caller holds the session's lock.
func (k *Keeper) Note(s *session.Session, cfg schema.Config) {
	if k.Dir == "" || k.Sessions.RawHistory == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting[s.Key] = place{s.Row.Directory, s.Row.Project, cfg}
	if !k.isRunning {
		k.isRunning = true
		k.Background.Go(k.work)
	}
}

func (k *Keeper) work() {
	ctx := k.Background.Lifetime()
	pause := k.After
	for {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		key, p, ok := k.next()
		if !ok {
			return
		}
		started := time.Now()
		rested, err := k.read(ctx, key, p)
		if err != nil && ctx.Err() == nil {
			k.tell("the index lacks new messages of a session for now", err, "session", key.Session)
		}
		k.embed()
		pause = max(k.After, pauseAfter(time.Since(started), rested))
	}
}

func (k *Keeper) next() (key store.Key, p place, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Background.Lifetime().Err() == nil {
		for key, p = range k.waiting {
			delete(k.waiting, key)
			return key, p, true
		}
	}
	k.isRunning = false
	return key, p, false
}

// rested is the sum of the indexer's pauses.
func (k *Keeper) read(ctx context.Context, key store.Key, p place) (rested time.Duration, err error) {
	s := rawhistory.Session{Harness: schema.Harness(key.Harness), ID: key.Session, Directory: p.directory}
	compartments, _, err := k.Sessions.Store.History.Compartments(ctx, key)
	if err != nil {
		return 0, err
	}
	s.Anchors = session.AnchorsOf(compartments)
	if s.Typed, err = k.Sessions.Store.Typed(ctx, key); err != nil {
		return 0, err
	}
	stored, err := k.Sessions.RawHistory.StoredBy(ctx, s)
	if err != nil {
		return 0, err
	}
	db, err := index.Open(ctx, k.Dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	x := Indexer{Index: db, Reader: *k.Sessions.RawHistory, Share: KeepShare}
	if _, err = x.Session(ctx, stored, p.project); err != nil {
		return x.rested, err
	}
	if _, err := x.Commits(ctx, p.directory, p.project, p.config); err != nil && ctx.Err() == nil {
		k.Log.Debug("the commits of a project are not indexed", "session", key.Session, "error", err) // for example, git is missing
	}
	return x.rested, nil
}

// embed starts a second worker that fetches vectors for new texts. The embedding service may be slow, and the first
// worker must not wait for it.
func (k *Keeper) embed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isEmbedding || k.Embeddings == nil {
		return
	}
	k.isEmbedding = true
	k.Background.Go(func() {
		ctx := k.Background.Lifetime()
		e := embedding.Embedder{Dir: k.Dir, Source: k.Embeddings, Share: KeepShare}
		if err := e.Run(ctx, func(int) {}); err != nil && ctx.Err() == nil {
			k.tell("new texts get no vectors for now", err)
		}
		k.mu.Lock()
		k.isEmbedding = false
		k.mu.Unlock()
	})
}

func (k *Keeper) tell(message string, err error, about ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err.Error() == k.told {
		return
	}
	k.told = err.Error()
	k.Log.Warn(message, append(about, "error", err)...)
}

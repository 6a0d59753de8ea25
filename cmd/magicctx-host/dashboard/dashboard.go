package dashboard

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/internal/view/page"
	"github.com/magicctx/magicctx-host/internal/wirediff"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

type Options struct {
	Dir string
	// Port is the TCP port on 127.0.0.1. 0 means any free port.
	Port uint16
	// Follow calls `tell` with the current state of the host, and again after each change. It returns when ctx ends.
	Follow  func(ctx context.Context, tell func(State))
	Session func(context.Context, schema.SessionStatusParams) (schema.SessionStatus, error)
	Keep    func(context.Context, schema.KeepParams) (schema.KeepResult, error)
	// Messages writes the full text of all messages from the ordinal `first` to the ordinal `last`.
	Messages func(ctx context.Context, of store.Key, first, last int, w io.Writer) error
	Read     wirediff.Read
	// Identify returns the identity of the project of a directory.
	Identify func(ctx context.Context, directory string) (string, error)
	// Ready is called with the address that the user opens in a browser. The address works only once.
	Ready func(url string) error
}

type State struct {
	Status *schema.StatusResult `json:"status,omitempty"`
	// Away is the reason why there is no status.
	Away string `json:"away,omitempty"`
}

func Serve(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.Port))))
	if err != nil {
		return fmt.Errorf("serve the dashboard: %w; without --port it takes any free port", err)
	}
	p := &pages{Options: o, guard: newGuard(), feed: newFeed(ctx, o.Follow), replays: &replays{work: background.New(), dir: o.Dir}}
	defer p.replays.work.Stop(context.WithoutCancel(ctx)) // so that a running replay can remove its files
	server := newServer(ctx, p.handler())
	// A browser never sends the part after # to a server, so no log can contain the token.
	if err := o.Ready("http://" + listener.Addr().String() + "/" + p.guard.path + "/#" + p.guard.token); err != nil {
		return errors.Join(err, listener.Close())
	}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the dashboard: %w", err)
	}
	return nil
}

// readTimeout limits the reading of one request. idleTimeout limits the pause between requests of a connection.
const readTimeout, idleTimeout = 10 * time.Second, 2 * time.Minute

func newServer(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, BaseContext: func(net.Listener) context.Context { return ctx }}
}

//go:embed dashboard.html
var pageHTML string

//go:embed dashboard.css
var pageStyle string

//go:embed dashboard.js
var pageScript string

//go:embed diff.js
var diffScript string

//go:embed live.js
var liveScript string

//go:embed keep.js
var keepScript string

//go:embed workspaces.js
var workspacesScript string

//go:embed settings.js
var settingsScript string

//go:embed whatif.js
var whatIfScript string

type pages struct {
	Options
	guard   *guard
	feed    *feed
	replays *replays
	editing sync.Mutex
}

// The page itself contains no data, so handler serves it to everybody. It serves the data under /api/ only to requests
// with the secret.
func (p *pages) handler() http.Handler {
	api := http.NewServeMux()
	for pattern, handler := range p.data() {
		api.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { handler(&pathless{ResponseWriter: w, dir: p.Dir}, r) })
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", p.guard.protect(api))
	mux.HandleFunc("POST /open", answer(func(r *http.Request) (string, error) {
		var token string
		if err := json.UnmarshalRead(r.Body, &token); err != nil {
			return "", errClosed
		}
		return p.guard.open(token)
	}))
	for path, file := range map[string]struct{ kind, text string }{
		"GET /{$}":       {"text/html; charset=utf-8", pageHTML},
		"GET /style.css": {"text/css; charset=utf-8", page.Style + pageStyle},
		"GET /script.js": {"text/javascript; charset=utf-8", pageScript + liveScript + keepScript + diffScript + workspacesScript + settingsScript + whatIfScript},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", file.kind)
			if path == "GET /{$}" {
				p.guard.forget(w.Header())
			}
			fmt.Fprint(w, file.text)
		})
	}
	root := http.NewServeMux()
	root.Handle("/"+p.guard.path+"/", http.StripPrefix("/"+p.guard.path, mux))
	return headers(root)
}

// A pathless removes the path of the data directory from error messages.
type pathless struct {
	http.ResponseWriter
	dir     string
	isError bool
}

func (w *pathless) WriteHeader(status int) {
	w.isError = status >= http.StatusBadRequest
	w.ResponseWriter.WriteHeader(status)
}

func (w *pathless) Write(text []byte) (int, error) {
	if !w.isError {
		return w.ResponseWriter.Write(text)
	}
	_, err := w.ResponseWriter.Write(withoutDir(text, w.dir))
	return len(text), err
}

func withoutDir(text []byte, dir string) []byte {
	return bytes.ReplaceAll(text, []byte(dir+string(filepath.Separator)), nil)
}

func (w *pathless) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (p *pages) data() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /api/state":       p.feed.serve,
		"GET /api/sessions":    answer(p.sessions),
		"GET /api/session":     answer(p.session),
		"POST /api/keep":       answer(p.keep),
		"GET /api/messages":    answer(p.messages),
		"GET /api/diff":        answer(p.diff),
		"GET /api/memories":    answer(p.memories),
		"POST /api/memories":   answer(p.change),
		"GET /api/agents":      answer(p.agents),
		"POST /api/undo":       answer(p.undo),
		"POST /api/notes":      answer(p.close),
		"GET /api/settings":    answer(p.settings),
		"POST /api/settings":   answer(p.changeSetting),
		"GET /api/workspaces":  answer(p.workspaces),
		"POST /api/workspaces": answer(p.changeWorkspace),
		"GET /api/spend":       answer(p.spend),
		"GET /api/replay":      answer(p.replays.get),
		"POST /api/replay":     answer(p.replays.change),
		"POST /api/report":     answer(p.replays.takeReport),
	}
}

// maxBody bounds the body of a request, in bytes. A memory has at most a few kilobytes.
const maxBody = 64 << 10

func answer[T any](f func(*http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		result, err := f(r)
		var encoded []byte
		if err == nil {
			encoded, err = json.Marshal(result)
		}
		if err != nil {
			status := http.StatusUnprocessableEntity
			if _, isMissing := errors.AsType[missing](err); isMissing {
				status = http.StatusNotFound
			}
			http.Error(w, err.Error(), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(encoded)
	}
}

func (p *pages) memories(r *http.Request) ([]chronicle.Memory, error) {
	all := []chronicle.Memory{}
	err := memories.View(r.Context(), p.Dir, func(r *memories.Reader) (err error) {
		found, err := r.All("", true, time.Now().UnixMilli())
		all = append(all, found...)
		return err
	})
	if errors.Is(err, store.ErrMissing) {
		err = nil
	}
	return all, err
}

// spendDays is the number of days that the page shows. The last of these days is today.
const spendDays = 7

func (p *pages) spend(r *http.Request) (view.Spend, error) {
	year, month, day := time.Now().Date()
	calls, runs, err := work.View(r.Context(), p.Dir, time.Date(year, month, day+1-spendDays, 0, 0, 0, 0, time.Local).UnixMilli())
	if errors.Is(err, store.ErrMissing) {
		err = nil
	}
	return view.SpendOf(calls, runs, time.Local), err
}

type change struct {
	ID      int64  `json:"id"`
	Action  string `json:"action"` // "archive", "restore" or "edit"
	Content string `json:"content"`
}

func (p *pages) change(r *http.Request) (changed chronicle.Memory, err error) {
	var c change
	if err := json.UnmarshalRead(r.Body, &c); err != nil {
		return changed, fmt.Errorf("read the change: %w", err)
	}
	err = memories.Edit(r.Context(), p.Dir, time.Now().UnixMilli(), func(e *memories.Editor) error {
		switch c.Action {
		case "archive":
			_, err = e.Archive("", []int64{c.ID}, "the user has archived it in the dashboard")
		case "restore":
			_, err = e.Restore("", c.ID)
		case "edit":
			_, err = e.Update("", c.ID, func(m *chronicle.Memory) { m.Content = c.Content })
		default:
			err = fmt.Errorf("there is no action %q: archive, restore or edit", c.Action)
		}
		if err != nil {
			return err
		}
		changed, err = e.Reader().Memory("", c.ID)
		return err
	})
	return changed, err
}

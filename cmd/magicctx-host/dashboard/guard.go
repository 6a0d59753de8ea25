package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"sync"
)

// A guard answers only the browser that was given the token. The page exchanges the token for a secret, keeps the
// secret in the storage of its origin, and sends it with each request as a header. A cookie would also go to the
// servers of all other ports of 127.0.0.1, which may belong to another user.
//
// Another user of the machine does not know the secret. For a page of another origin, a browser sends such a header
// only if the server allows it. A page that reaches this address under another name (DNS rebinding) has another
// origin, too.
//
// Before the dashboard starts, another user may listen on its port, and a browser may keep for example a script of
// that page. So all files and data are below a random path, and the browser deletes what it has kept.
type guard struct {
	secret string
	// path is the first part of each path, without slashes.
	path string

	mu    sync.Mutex
	token string
}

func newGuard() *guard { return &guard{token: rand.Text(), secret: rand.Text(), path: rand.Text()} }

// The page may load only its own files, and no other page can show it in a frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func headers(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		h.ServeHTTP(w, r)
	})
}

func (g *guard) protect(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !isBearer || !isSame(got, g.secret) {
			http.Error(w, errClosed.Error(), http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Until the token is used, the browser deletes what it has kept of this origin. Later, that would be the secret.
func (g *guard) forget(h http.Header) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token != "" {
		h.Set("Clear-Site-Data", `"cache", "storage"`)
	}
}

var errClosed = errors.New("open the address that magicctx-host dashboard has printed; it works once, so start the command again if you have used it")

func (g *guard) open(token string) (secret string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == "" || !isSame(token, g.token) {
		return "", errClosed
	}
	g.token = ""
	return g.secret, nil
}

func isSame(got, want string) bool { return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1 }

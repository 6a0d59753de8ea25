package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"sync"
)

// A guard answers only the browser that got the token. The page exchanges the token for a secret, stores the secret in
// localStorage, and sends the secret in a header with each request. A cookie would be less safe: the browser would also
// send it to servers on other ports of 127.0.0.1, and another user may run one of these servers.
//
// Three attackers cannot read the data. Another user of the machine does not know the secret. A page of another origin
// may not send the header, because this server does not allow it. A page that reaches this server under another host
// name (DNS rebinding) also counts as another origin, so it cannot read the secret.
//
// Before the dashboard starts, another user may run a server on its port, and the browser may cache a script of that
// server. Two measures keep such a script from running here: all files and data are below a random path, and the
// browser deletes its cache and storage.
type guard struct {
	secret string
	// path is the first part of each path, without slashes.
	path string

	mu    sync.Mutex
	token string
}

func newGuard() *guard { return &guard{token: rand.Text(), secret: rand.Text(), path: rand.Text()} }

// The browser lets the page load only files of this server, and lets no other page show it in a frame.
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

// Until the token is used, the method `forget` makes the browser delete its cache and storage of this origin. After
// that, the storage contains the secret, so the browser must keep it.
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

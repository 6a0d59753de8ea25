package client

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/schema"
)

// A Registry knows the connected clients, and caches the configuration of each directory.
type Registry struct {
	load func(schema.Harness, string) (schema.Config, []config.Warning)

	mu          sync.Mutex
	clients     map[Client]*facts
	configs     map[directory]schema.Config
	subscribers map[Client][]schema.SubscribeParams
}

type directory struct {
	harness schema.Harness
	path    string
}

type facts struct {
	harness schema.Harness
	opened  map[string][]config.Warning // by directory, the warnings about its configuration
	// `limits` contains the model limits that the client's harness has reported.
	limits map[schema.Model]schema.ModelLimits
	// keptWarm is how long the harness keeps the prefixes of idle sessions cached. The client reports it.
	keptWarm time.Duration
}

func NewRegistry(load func(schema.Harness, string) (schema.Config, []config.Warning)) *Registry {
	return &Registry{
		load: load, clients: make(map[Client]*facts), configs: make(map[directory]schema.Config), subscribers: make(map[Client][]schema.SubscribeParams),
	}
}

// maxKeptWarmSeconds is a day: no provider documents a longer cache life.
const maxKeptWarmSeconds = 24 * 60 * 60

func (r *Registry) Open(c Client, p schema.InitializeParams, cfg schema.Config, warnings []config.Warning) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients[c] == nil {
		r.clients[c] = &facts{harness: p.Harness, opened: map[string][]config.Warning{}, limits: map[schema.Model]schema.ModelLimits{}}
	}
	r.clients[c].opened[p.Directory] = warnings
	r.clients[c].keptWarm = time.Duration(min(max(0, p.KeptWarmSeconds), maxKeptWarmSeconds)) * time.Second
	r.configs[directory{p.Harness, p.Directory}] = cfg
}

func (r *Registry) Forget(c Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.clients, c)
	delete(r.subscribers, c)
}

func (r *Registry) Harness(c Client) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.clients[c]
	if !ok {
		return "", Invalid("initialize comes first")
	}
	return string(known.harness), nil
}

// Config returns the configuration that a client last loaded for a directory. If there is none, Config loads it.
func (r *Registry) Config(harness, path string) schema.Config {
	d := directory{schema.Harness(harness), path}
	r.mu.Lock()
	cfg, ok := r.configs[d]
	r.mu.Unlock()
	if ok {
		return cfg
	}
	cfg, _ = r.load(d.harness, d.path)
	r.mu.Lock()
	r.configs[d] = cfg
	r.mu.Unlock()
	return cfg
}

// KnownConfig returns the configuration of a directory as it was last read, or the default if it was never read.
// KnownConfig reads no file, because a status must not open a project's files.
func (r *Registry) KnownConfig(harness schema.Harness, path string) schema.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cfg, ok := r.configs[directory{harness, path}]; ok {
		return cfg
	}
	return defaultConfig()
}

var defaultConfig = sync.OnceValue(config.Default)

func (r *Registry) Limits(c Client, m schema.Model) (limits schema.ModelLimits, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if connected := r.clients[c]; connected != nil {
		limits, ok = connected.limits[m]
	}
	return limits, ok
}

func (r *Registry) SetLimits(c Client, m schema.Model, limits schema.ModelLimits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if connected, ok := r.clients[c]; ok {
		connected.limits[m] = limits
	}
}

// KeptWarm returns how long a harness keeps the prefixes of idle sessions cached, or 0.
func (r *Registry) KeptWarm(harness string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	longest := time.Duration(0)
	for _, c := range r.clients {
		if string(c.harness) == harness {
			longest = max(longest, c.keptWarm)
		}
	}
	return longest
}

// WithOpen returns the clients of a harness that have opened a directory. If `preferred` is one of them, it comes
// first.
func (r *Registry) WithOpen(harness schema.Harness, path string, preferred Client) []Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	var able []Client
	for c, known := range r.clients {
		if _, isOpen := known.opened[path]; !isOpen || known.harness != harness {
			continue
		}
		able = append(able, c)
		if c == preferred {
			able[0], able[len(able)-1] = able[len(able)-1], able[0]
		}
	}
	return able
}

type Place struct {
	Client    Client
	Harness   schema.Harness
	Directory string
}

func (r *Registry) Opened() (all []Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, known := range r.clients {
		for path := range known.opened {
			if known.harness != "" {
				all = append(all, Place{c, known.harness, path})
			}
		}
	}
	slices.SortFunc(all, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Directory, b.Directory), cmp.Compare(a.Harness, b.Harness))
	})
	return all
}

// Warnings lists the problems in the configurations of the open directories, each problem once.
func (r *Registry) Warnings() []schema.Warning {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := map[string]string{} // by message, the first directory that has it
	for _, c := range r.clients {
		for dir, warnings := range c.opened {
			for _, w := range warnings {
				if known, ok := first[w.Message]; !ok || dir < known {
					first[w.Message] = dir
				}
			}
		}
	}
	var all []schema.Warning
	for _, message := range slices.Sorted(maps.Keys(first)) {
		all = append(all, schema.Warning{Source: "config", Directory: first[message], Message: message})
	}
	return all
}

const maxSubscriptions = 64

func (r *Registry) Subscribe(c Client, p schema.SubscribeParams) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Only {
		delete(r.subscribers, c)
	}
	if len(r.subscribers[c]) >= maxSubscriptions {
		return Invalid("this client has %d subscriptions", maxSubscriptions)
	}
	r.subscribers[c] = append(r.subscribers[c], p)
	return nil
}

func (r *Registry) Subscriptions() map[Client][]schema.SubscribeParams {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.subscribers)
}

func (r *Registry) Listeners(harness, session string) (all []Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, subscriptions := range r.subscribers {
		if slices.ContainsFunc(subscriptions, func(p schema.SubscribeParams) bool {
			return (p.Harness == "" || string(p.Harness) == harness) && (p.Session == "" || p.Session == session)
		}) {
			all = append(all, c)
		}
	}
	return all
}

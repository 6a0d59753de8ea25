package config

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// userOnly are the keys that no project may set. The database and the lifetime of the host belong to
// all projects. A hidden agent has a shell, so a cloned repository must not reprogram it.
var userOnly = []path{
	{"auto_update"},
	{"sqlite"},
	{"idle_exit_minutes"},
	{"trusted_projects"},
	{"historian", "prompt"},
	{"historian", "permission"},
	{"historian", "tools"},
	{"historian", "system_prompt"},
	{"dreamer", "prompt"},
	{"dreamer", "permission"},
	{"dreamer", "tools"},
	{"dreamer", "system_prompt"},
	{"sidekick", "prompt"},
	{"sidekick", "permission"},
	{"sidekick", "tools"},
	{"sidekick", "system_prompt"},
}

// restrict removes the keys that an untrusted repository may not set from the project's level. It also
// removes the user's API key from the user's level if it would go to the project's endpoint. A project
// that the user trusts may set more keys, but never userOnly.
func (l *loader) restrict(project, user *level, trusted bool) {
	for _, key := range userOnly {
		l.forbid(project, key, "only the user file may set this; ignored")
	}
	if !trusted {
		l.forbid(project, path{"command"}, "a project may define commands only if trusted_projects of the user file lists it; ignored")
		l.restrictTasks(project, user)
		l.restrictEndpoint(project, user)
	}
	l.keepAPIKey(project, user)
}

// forbid removes a key and adds a warning.
func (l *loader) forbid(lv *level, key path, why string) {
	parent, ok := lookup(lv.tree, key[:len(key)-1])
	tree, isObject := parent.(object)
	if !ok || !isObject {
		return
	}
	last := key[len(key)-1]
	if _, ok := tree[last]; ok {
		delete(tree, last)
		l.warnKey(lv, key, why)
	}
}

// restrictTasks removes the task that writes files, unless the user's own list contains it.
func (l *loader) restrictTasks(project, user *level) {
	const writes = "maintain-docs"
	has := func(lv *level) bool {
		tasks, _ := lookup(lv.tree, path{"dreamer", "tasks"})
		list, _ := tasks.([]any)
		return slices.Contains(list, any(writes))
	}
	if !has(project) || has(user) {
		return
	}
	dreamer := project.tree["dreamer"].(object)
	tasks := dreamer["tasks"].([]any)
	dreamer["tasks"] = slices.DeleteFunc(tasks, func(task any) bool { return task == writes })
	l.warnKey(project, path{"dreamer", "tasks"}, writes+" writes files, so a project may ask for it only if trusted_projects of the user file lists it; left out")
}

func (l *loader) restrictEndpoint(project, user *level) {
	endpoint := endpointOf(project)
	if endpoint == "" || endpoint == endpointOf(user) || isPublicEndpoint(endpoint) {
		return
	}
	l.forbid(project, path{"embedding", "endpoint"}, "a project may name an address that is not public http(s) only if trusted_projects of the user file lists it; ignored")
}

// keepAPIKey prevents the user's API key from going to an endpoint that the project chose.
func (l *loader) keepAPIKey(project, user *level) {
	endpoint := endpointOf(project)
	if endpoint == "" || endpoint == endpointOf(user) || textAt(project, "api_key") != "" {
		return
	}
	if embedding, ok := user.tree["embedding"].(object); ok && embedding["api_key"] != nil {
		delete(embedding, "api_key")
		l.warnKey(project, path{"embedding", "endpoint"}, "differs from that of the user file, so the user's api_key is not used")
	}
}

// endpointOf returns the level's endpoint in a normal form, so that two endpoints can be compared.
func endpointOf(lv *level) string {
	return strings.ToLower(strings.TrimRight(textAt(lv, "endpoint"), "/"))
}

func textAt(lv *level, key string) string {
	value, _ := lookup(lv.tree, path{"embedding", key})
	text, _ := value.(string)
	return strings.TrimSpace(text)
}

// oddAddress matches forms of an IPv4 address that a resolver accepts but netip does not: 2130706433,
// 0x7f.1, 127.1.
var oddAddress = regexp.MustCompile(`^(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?$`)

var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10") // RFC 6598: addresses behind a carrier's NAT

// isPublicEndpoint reports whether the host's name or address looks public. It does not resolve names,
// so the code that connects must check the address again.
func isPublicEndpoint(endpoint string) bool {
	parsed, err := url.Parse(endpoint)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return false
	}
	host := parsed.Hostname()
	if address, err := netip.ParseAddr(host); err == nil {
		address = address.Unmap().WithZone("")
		return address.IsGlobalUnicast() && !address.IsPrivate() && !sharedAddresses.Contains(address)
	}
	if oddAddress.MatchString(host) {
		return false
	}
	host = strings.TrimSuffix(host, ".")
	for _, suffix := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa"} {
		if strings.HasSuffix(host, suffix) {
			return false
		}
	}
	return strings.Contains(host, ".") // a name without a dot belongs to the local network
}

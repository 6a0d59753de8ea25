package config

// `moved` lists the keys of the original plugin's old "experimental" block, with their current places.
var moved = []struct {
	name string
	to   path
	flag bool // the value stays a boolean; if flag is false, it becomes an object such as {"enabled": true}
}{
	{"temporal_awareness", path{"temporal_awareness"}, true},
	{"caveman_text_compression", path{"caveman_text_compression"}, false},
	{"auto_search", path{"memory", "auto_search"}, false},
	{"git_commit_indexing", path{"memory", "git_commit_indexing"}, false},
	{"user_memories", path{"dreamer", "user_memories"}, false},
	{"pin_key_files", path{"dreamer", "pin_key_files"}, false},
}

// `retired` lists keys of the original plugin that no longer have a meaning. A file may still contain them, without a
// warning.
var retired = []string{
	"auto_drop_tool_age", "compartment_token_budget", "compressor", "disabled_hooks", "drop_tool_structure",
}

// moveOldKeys moves old keys of the original plugin to their new places, if these places have no value yet.
func moveOldKeys(tree object) {
	if old, ok := tree["experimental"].(object); ok {
		for _, m := range moved {
			value, ok := old[m.name]
			if !ok {
				continue
			}
			delete(old, m.name)
			if on, ok := value.(bool); ok && !m.flag {
				value = object{"enabled": on}
			}
			place(tree, m.to, value)
		}
		remove(old, retired)
		delete(old, "compaction_markers") // the original plugin switched them on by default; here they are off
		if len(old) == 0 {
			delete(tree, "experimental")
		}
	}
	remove(tree, retired)
	for _, name := range []string{"historian", "dreamer", "sidekick"} {
		if agent, ok := tree[name].(object); ok {
			moveEnabled(agent, name != "historian")
		}
	}
}

func moveEnabled(agent object, optional bool) {
	enabled, ok := agent["enabled"].(bool)
	if !ok {
		return
	}
	delete(agent, "enabled")
	if _, set := agent["disable"]; optional && !enabled && !set {
		agent["disable"] = true
	}
}

// place keeps a value that is already at the path.
func place(tree object, to path, value any) {
	for _, key := range to[:len(to)-1] {
		if _, ok := tree[key]; !ok {
			tree[key] = object{}
		}
		inner, ok := tree[key].(object)
		if !ok {
			return // a value on the path is bad, and gets its own warning later
		}
		tree = inner
	}
	last := to[len(to)-1]
	present, ok := tree[last]
	if !ok {
		tree[last] = value
		return
	}
	below, ok := value.(object)
	above, both := present.(object)
	if ok && both {
		tree[last] = merge(below, above)
	}
}

func remove(tree object, keys []string) {
	for _, key := range keys {
		delete(tree, key)
	}
}

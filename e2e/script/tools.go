package script

// Each method of Tools returns a tool call in the form of the harness: the tool's name and its arguments.
type Tools interface {
	// Read reads `limit` lines of a file, beginning with line `offset`. An argument that is 0 is left out.
	Read(path string, offset, limit int) (tool string, input map[string]any)
	Bash(command, description string) (tool string, input map[string]any)
	Edit(path, old, edited string) (tool string, input map[string]any)
}

var (
	OpenCode  Tools = openCode{}
	OpenCode2 Tools = openCode2{}
	Pi        Tools = pi{}
)

type openCode struct{}

func (openCode) Read(path string, offset, limit int) (string, map[string]any) {
	return "read", lines(map[string]any{"filePath": path}, offset, limit)
}

func (openCode) Bash(command, description string) (string, map[string]any) {
	return "bash", map[string]any{"command": command, "description": description}
}

func (openCode) Edit(path, old, edited string) (string, map[string]any) {
	return "edit", map[string]any{"filePath": path, "oldString": old, "newString": edited}
}

type openCode2 struct{}

func (openCode2) Read(path string, offset, limit int) (string, map[string]any) {
	return "read", lines(map[string]any{"path": path}, offset, limit)
}

func (openCode2) Bash(command, _ string) (string, map[string]any) {
	return "shell", map[string]any{"command": command}
}

func (openCode2) Edit(path, old, edited string) (string, map[string]any) {
	return "edit", map[string]any{"path": path, "oldString": old, "newString": edited}
}

type pi struct{}

func (pi) Read(path string, offset, limit int) (string, map[string]any) {
	return "read", lines(map[string]any{"path": path}, offset, limit)
}

func (pi) Bash(command, _ string) (string, map[string]any) {
	return "bash", map[string]any{"command": command}
}

func (pi) Edit(path, old, edited string) (string, map[string]any) {
	return "edit", map[string]any{"path": path, "edits": []map[string]any{{"oldText": old, "newText": edited}}}
}

func lines(input map[string]any, offset, limit int) map[string]any {
	if offset > 0 {
		input["offset"] = offset
	}
	if limit > 0 {
		input["limit"] = limit
	}
	return input
}

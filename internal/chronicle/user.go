package chronicle

// Memories about the user have this project and this category. All projects see them.
const (
	UserProject  = "user"
	UserCategory = "USER_PREFERENCES"
)

// An Observation is a trait that the historian has noticed, for example "prefers short answers".
type Observation struct {
	Content string
	// Words quotes the user.
	Words  string
	Source Range
}

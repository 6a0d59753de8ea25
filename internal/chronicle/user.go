package chronicle

// Memories about the user are stored under this project and this category. The sessions of all projects see them.
const (
	UserProject  = "user"
	UserCategory = "USER_PREFERENCES"
)

// An Observation is a trait that the historian has noticed, for example "prefers short answers".
type Observation struct {
	Content string
	// Words is the quote of the user that shows this trait.
	Words  string
	Source Range
}

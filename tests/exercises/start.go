package exercises

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Start makes the function of an exercise blank, in the repository whose root is given.
func Start(root string, args []string, out io.Writer) error {
	if len(args) != 1 {
		list(out)
		return errors.New("name one exercise: go run ./tests/exercises/start 01")
	}
	for _, e := range All {
		if e.Number() == args[0] || e.Folder == args[0] {
			return blank(root, e, out)
		}
	}
	list(out)
	return fmt.Errorf("there is no exercise %q", args[0])
}

func list(out io.Writer) {
	for _, e := range All {
		fmt.Fprintf(out, "%-26s %s in %s\n", e.Folder, e.Func, e.File)
	}
	fmt.Fprintln(out)
}

func blank(root string, e Exercise, out io.Writer) error {
	name := filepath.Join(root, filepath.FromSlash(e.File))
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%w (this is to be run in the root of the repository)", err)
	}
	// git has the project's answer, and restores it. So the file must have no changes that git does not have.
	diff := exec.Command("git", "diff", "--quiet", "HEAD", "--", e.File)
	diff.Dir = root
	if err := diff.Run(); err != nil {
		return fmt.Errorf("%s is changed already, or git cannot tell (%w); to have it as it was: git restore %s", e.File, err, e.File)
	}
	text, line, err := e.With(text, e.Blank())
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(out, `%s:%d: %s is blank now.

  read                tests/exercises/%[4]s/README.md
  write               %[1]s:%[2]d
  try                 go test ./tests/exercises/%[4]s
  compare             git diff %[1]s
  have it as it was   git restore %[1]s
`, e.File, line, e.Func, e.Folder)
	return nil
}

package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
)

// Command runs a program with the flags of [Flags], its own, and --version. --demo is there for the help: a program
// looks for it before. about is the first line of the help.
func Command(ctx context.Context, args []string, out io.Writer, about string, p Program) (err error) {
	var f Flags
	fs := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.SortFlags = false
	fs.Usage = func() { fmt.Fprintf(out, "%s\n\n%s", about, fs.FlagUsages()) }
	fs.BoolFunc("demo", "play the rules against an API server in this process, and exit with 0 if all held",
		func(string) error { return errors.New("it takes no value") })
	validate := func() error { return nil }
	if p.Flags != nil {
		validate = p.Flags(fs)
	}
	version := fs.Bool("version", false, "print the version, and exit")
	f.AddTo(fs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	if *version {
		_, err := fmt.Fprintln(out, p.Version)
		return err
	}
	if err := errors.Join(f.Validate(fs), validate()); err != nil {
		return err
	}
	stop, err := f.Log.Start(os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return Run(ctx, nil, &f, p)
}

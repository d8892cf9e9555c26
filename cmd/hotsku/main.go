// Command hotsku measures how a checkout guards a hot SKU, and what each way costs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"github.com/hotsku/hotsku/plots"
	"github.com/hotsku/hotsku/results"
	"github.com/hotsku/hotsku/target/steps"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// commands is the command line.
type commands struct {
	Load       loadCommand       `cmd:"" help:"Put strategies through a plan on real servers, and leave a report."`
	Audit      auditCommand      `cmd:"" help:"Judge a stored run again, from its files alone."`
	Plot       plotCommand       `cmd:"" help:"Draw the figures and the report of a stored run again."`
	Strategies strategiesCommand `cmd:"" help:"List the strategies and what they claim, or explain one."`
	Scenarios  scenariosCommand  `cmd:"" help:"List the built-in scenarios."`
	Plans      plansCommand      `cmd:"" help:"List the built-in plans, or print one to be edited."`
	Serve      serveCommand      `cmd:"" help:"Run one replica of the checkout service."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
	Warden     wardenCommand     `cmd:"" hidden:"" help:"Clean up after a parent that was killed (started by load)."`
}

// stallKinds lists the kinds of stall as a flag's values.
func stallKinds() string {
	var kinds []string
	for _, k := range steps.Kinds() {
		kinds = append(kinds, string(k))
	}
	return strings.Join(kinds, ",")
}

const description = `hotsku measures how a checkout guards a hot SKU, and what each way costs.

Exit codes: 0 all held; 2 usage; 10 a strategy that claims to be safe broke an invariant; 30 a trial, or the whole run, is
invalid, or a control was not caught; 40 the environment failed; 130 interrupted.`

// stream is where a command prints. Results go to out; progress, warnings and errors to err.
type stream struct{ out, err io.Writer }

// terminal reports whether what is printed to w is seen by a person at once.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// columns is the width of the terminal behind w, or 80 if there is none.
func columns(w io.Writer) int {
	if file, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// room is how many columns a table of results may have: those of the terminal, or 0 for any number where there is none.
func (s stream) room() int {
	if terminal(s.out) {
		return columns(s.out)
	}
	return 0
}

// colored reports whether results are printed in color: on a terminal, unless NO_COLOR is set (https://no-color.org).
func (s stream) colored() bool { return terminal(s.out) && os.Getenv("NO_COLOR") == "" }

func (s stream) tableStyle() plots.TableStyle {
	if s.colored() {
		return plots.Colored
	}
	return plots.Plain
}

// exit is an error that carries the exit code of the process.
type exit struct {
	code int
	err  error // nil: everything is said already
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e exit) Unwrap() error { return e.err }

func usage(err error) error       { return exit{results.ExitUsage, err} }
func environment(err error) error { return exit{results.ExitEnvironment, err} }

// quit is what kong panics with instead of ending the process after --help.
type quit int

// run executes one command line and returns the exit code. An error is printed to stderr, once.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if q, ok := recover().(quit); ok {
			code = int(q)
		}
	}()
	parser, err := kong.New(&commands{}, kong.Name("hotsku"), kong.Description(description),
		kong.Vars{"stall_kinds": stallKinds()}, kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(quit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}))
	if err != nil {
		panic(err) // the declarations above are wrong; every test would see it
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "hotsku: %v\nSee hotsku --help.\n", err)
		return results.ExitUsage
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	return report(parsed.Run(stream{stdout, stderr}), stderr)
}

// report prints an error, with all that was joined to it, and returns the exit code that it stands for.
func report(err error, stderr io.Writer) int {
	if err == nil {
		return results.ExitHeld
	}
	if text := strings.TrimSpace(err.Error()); text != "" {
		fmt.Fprintf(stderr, "hotsku: %s\n", text)
	}
	var e exit
	if errors.As(err, &e) {
		return e.code
	}
	return results.ExitEnvironment
}

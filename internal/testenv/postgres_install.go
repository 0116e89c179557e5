package testenv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const postgresMissing = `PostgreSQL's server is not installed, and these tests need it.
  Debian, Ubuntu: apt-get install postgresql       (make test does it, as root)
  macOS:          brew install postgresql@17`

var errNoPostgres = errors.New(postgresMissing)

// pgInstall is the PostgreSQL of this machine.
type pgInstall struct {
	bin     string
	version string              // The output of initdb --version.
	cred    *syscall.Credential // Set for root only, because PostgreSQL refuses to run as root.
}

func findPostgres() (*pgInstall, error) {
	in := &pgInstall{}
	if err := in.findBinaries(); err != nil {
		return nil, err
	}
	out, err := exec.Command(in.binary("initdb"), "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("initdb --version: %w", err)
	}
	in.version = strings.TrimSpace(string(out))
	if os.Geteuid() == 0 {
		if in.cred, err = postgresUser(); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// findBinaries sets bin to the folder that TALLYMAN_TEST_POSTGRES names. Without the variable it takes the newest
// version in Debian's and Homebrew's folders, or else the version in the PATH.
func (in *pgInstall) findBinaries() error {
	if in.bin = os.Getenv("TALLYMAN_TEST_POSTGRES"); in.bin != "" {
		return nil
	}
	best := -1
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin"} {
		dirs, _ := filepath.Glob(pattern)
		for _, dir := range dirs {
			_, number, _ := strings.Cut(filepath.Base(filepath.Dir(dir)), "@")
			if number == "" {
				number = filepath.Base(filepath.Dir(dir))
			}
			v, err := strconv.Atoi(number)
			if err == nil && v > best && isFile(filepath.Join(dir, "postgres")) && isFile(filepath.Join(dir, "initdb")) {
				best, in.bin = v, dir
			}
		}
	}
	if in.bin != "" {
		return nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return errNoPostgres
	}
	if path, err = filepath.EvalSymlinks(path); err != nil || !isFile(filepath.Join(filepath.Dir(path), "postgres")) {
		return errNoPostgres
	}
	in.bin = filepath.Dir(path)
	return nil
}

func (in *pgInstall) binary(name string) string { return filepath.Join(in.bin, name) }

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

func postgresUser() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user postgres to run it as: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// tempDir makes a folder that the server may use. Its name is short because the path of a unix socket has a limit.
func (in *pgInstall) tempDir() (string, error) {
	dir, err := serverFolder("tmpg")
	if err != nil {
		return "", err
	}
	return dir, in.own(dir)
}

// own gives a file to the user of the server.
func (in *pgInstall) own(path string) error {
	if in.cred == nil {
		return nil
	}
	return os.Chown(path, int(in.cred.Uid), int(in.cred.Gid))
}

// makeData fills dir with a new database cluster. It copies the cluster that an earlier run has cached, or calls
// initdb.
func (in *pgInstall) makeData(dir string) error {
	cached := in.cachePath()
	if cached != "" && in.copyTree(cached, dir) == nil {
		return nil
	}
	_ = os.RemoveAll(dir)
	cmd := exec.Command(in.binary("initdb"), "-D", dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	cmd.Dir = filepath.Dir(dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: in.cred}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if cached != "" {
		in.cache(dir, cached)
	}
	return nil
}

// cachePath returns the path of the cached cluster, or "" where the user has no cache folder.
func (in *pgInstall) cachePath() string {
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/ ()~:", r) {
			return '-'
		}
		return r
	}, in.version)
	return filepath.Join(base, "tallyman-test", name)
}

// cache stores a copy of the cluster for later runs. The copy appears completely or not at all. Errors do not matter:
// without the copy a later run is only slower.
func (in *pgInstall) cache(data, cached string) {
	if os.MkdirAll(filepath.Dir(cached), 0o700) != nil {
		return
	}
	tmp, err := os.MkdirTemp(filepath.Dir(cached), "new")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if in.copyTree(data, filepath.Join(tmp, "data")) == nil {
		_ = os.Rename(filepath.Join(tmp, "data"), cached)
	}
}

// copyTree copies folders and files, and gives them to the user of the server.
func (in *pgInstall) copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		if d.IsDir() {
			err = os.Mkdir(dst, 0o700)
		} else {
			err = copyFile(path, dst)
		}
		if err != nil {
			return err
		}
		return in.own(dst)
	})
}

// copyFile copies a file, by the operating system where possible.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

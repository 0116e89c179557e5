package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tallyman/docs/codetest"
)

// inChinese are the pages that docs/zh must have.
var inChinese = []string{"tutorial/*.md", "runbooks/*.md", "reference/rule-file.md"}

// TestChinesePagesFollowTheEnglishOnes compares each page of docs/zh with the English page of the same path: the levels of the headings, the code,
// and the pages that links lead to. So a change of one page without the other fails.
func TestChinesePagesFollowTheEnglishOnes(t *testing.T) {
	t.Parallel()
	var wanted []string
	for _, glob := range inChinese {
		found, err := filepath.Glob(glob)
		if err != nil || len(found) == 0 {
			t.Fatalf("no page is %s: %v", glob, err)
		}
		wanted = append(wanted, found...)
	}
	for _, page := range wanted {
		chinese := filepath.Join("zh", page)
		if _, err := os.Stat(chinese); err != nil {
			t.Errorf("%s has no Chinese page %s", page, chinese)
			continue
		}
		for _, fault := range differences(page, codetest.ReadFile(t, page), chinese, codetest.ReadFile(t, chinese)) {
			t.Errorf("%s: %s", chinese, fault)
		}
	}
	err := filepath.WalkDir("zh", func(path string, _ os.DirEntry, err error) error {
		page := strings.TrimPrefix(path, "zh/")
		if err == nil && strings.HasSuffix(path, ".md") && page != "README.md" && !slices.Contains(wanted, page) {
			t.Errorf("%s has no English page %s, or none that is kept in Chinese", path, page)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// differences tells how the Chinese page does not follow the English one.
func differences(englishPath, english, chinesePath, chinese string) (faults []string) {
	for _, c := range []struct {
		what string
		of   func(path, text string) []string
	}{{"the heading", headingLevels}, {"the code", codeBlocks}, {"the link", linkTargets}} {
		want, got := c.of(englishPath, english), c.of(chinesePath, chinese)
		for i := range max(len(want), len(got)) {
			if i >= len(want) || i >= len(got) || want[i] != got[i] {
				faults = append(faults, c.what+" number "+ordinalOf(i, want)+" is not "+ordinalOf(i, got))
				break
			}
		}
	}
	return faults
}

// ordinalOf names an entry of a list, for a fault.
func ordinalOf(i int, list []string) string {
	if i >= len(list) {
		return "(missing)"
	}
	text, _, _ := strings.Cut(list[i], "\n")
	return text
}

var fence = regexp.MustCompile("(?ms)^ *```[^\n]*\n.*?^ *```$")

// headingLevels are the levels of the headings, in order.
func headingLevels(_, text string) (levels []string) {
	for _, m := range regexp.MustCompile(`(?m)^(#+) `).FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		levels = append(levels, m[1])
	}
	return levels
}

// codeComment is a comment of a shell or YAML block: a whole line, or the end of a line. Both have the same form.
var codeComment = regexp.MustCompile(`(?m)(^|[ \t])[ \t]*# .*$`)

// codeBlocks are the fenced blocks, in order. Those of shell and YAML are without comments, which are translated.
func codeBlocks(_, text string) []string {
	blocks := fence.FindAllString(text, -1)
	for i, b := range blocks {
		if hasComments(b) {
			blocks[i] = regexp.MustCompile(`[ \t]+\n`).ReplaceAllString(codeComment.ReplaceAllString(b, "$1"), "\n")
		}
	}
	return blocks
}

// hasComments tells whether the language of the block is shell or YAML.
func hasComments(block string) bool {
	return regexp.MustCompile("^ *```(sh|yaml)\\b").MatchString(block)
}

// TestCommentsOfChineseBlocksAreChinese finds comments of shell and YAML blocks that nobody has translated.
func TestCommentsOfChineseBlocksAreChinese(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`[A-Za-z]+ [A-Za-z]+ [A-Za-z]+`)
	seen := 0
	for _, page := range chinesePages(t) {
		for _, b := range fence.FindAllString(codetest.ReadFile(t, page), -1) {
			if !hasComments(b) {
				continue
			}
			for _, comment := range codeComment.FindAllString(b, -1) {
				if seen++; words.MatchString(comment) {
					t.Errorf("%s: the comment %q is in English", page, strings.TrimSpace(comment))
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d comments were found", seen)
	}
}

// chinesePages are the pages in Chinese.
func chinesePages(t *testing.T) []string {
	t.Helper()
	pages := []string{"../README.zh-CN.md"}
	err := filepath.WalkDir("zh", func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestLinksToEnglishPagesAreMarked finds a link of a Chinese page to a page that is in English only, without （英文） after the link.
func TestLinksToEnglishPagesAreMarked(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, page := range chinesePages(t) {
		text := fence.ReplaceAllString(codetest.ReadFile(t, page), "")
		for _, at := range link.FindAllStringSubmatchIndex(text, -1) {
			target, _, _ := strings.Cut(text[at[2]:at[3]], "#")
			if !strings.HasSuffix(target, ".md") || strings.Contains(target, "://") || strings.HasSuffix(target, "zh-CN.md") {
				continue
			}
			if file := filepath.Join(filepath.Dir(page), target); strings.HasPrefix(strings.TrimPrefix(file, "../docs/"), "zh/") {
				continue
			}
			if seen++; !strings.HasPrefix(text[at[1]:], "（英文）") {
				t.Errorf("%s: the link %s leads to a page in English: write （英文） after it", page, text[at[0]:at[1]])
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d links were found", seen)
	}
}

// linkTargets are the pages that links lead to, once each, by their place in docs. A Chinese page may link to the Chinese page or to the English one; headings have
// other names in Chinese.
func linkTargets(path, text string) (targets []string) {
	for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target != "" && !strings.Contains(target, "://") {
			target = strings.TrimPrefix(filepath.Join(filepath.Dir(path), target), "zh/")
		}
		if target != "" && target != strings.TrimPrefix(path, "zh/") && !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	return targets
}

// TestADifferenceIsFound checks that the comparison reports each kind of change that only one page has.
func TestADifferenceIsFound(t *testing.T) {
	t.Parallel()
	english := "# A\n\n[b](../b.md#x)\n\n```sh\ntallyman status\n# no heading\n```\n\n## B\n"
	chinese := "# 甲\n\n[乙](../b.md#y)\n\n```sh\ntallyman status    # 状态\n# 不是标题\n```\n\n## 乙\n"
	if faults := differences("how-to/a.md", english, "zh/how-to/a.md", chinese); len(faults) > 0 {
		t.Errorf("pages that are alike differ: %v", faults)
	}
	for name, other := range map[string]string{
		"a part":       strings.Replace(chinese, "tallyman status", "tallyman status#1", 1),
		"a heading":    strings.Replace(chinese, "## 乙", "### 乙", 1),
		"no heading":   strings.Replace(chinese, "## 乙\n", "", 1),
		"a command":    strings.Replace(chinese, "status", "version", 1),
		"one more":     chinese + "```sh\ntallyman version\n```\n",
		"another link": strings.Replace(chinese, "../b.md", "../c.md", 1),
		"no link":      strings.Replace(chinese, "[乙](../b.md#y)", "", 1),
	} {
		if len(differences("how-to/a.md", english, "zh/how-to/a.md", other)) == 0 {
			t.Errorf("%s is not told", name)
		}
	}
}

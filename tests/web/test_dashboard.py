"""The dashboard in a real browser: what a person sees and does."""

import json
import re

import pytest
from conftest import SCREENSHOTS, TOKEN, until
from playwright.sync_api import Page, expect

# What the buttons and links are called.
WORDS = {
    "en": {
        "login": "Log in",
        "wrong": "This is not the token.",
        "users": "Users",
        "merges": "Merges",
        "conflicts": "Conflicts",
        "skipped": "Skipped",
        "now": "Have this user looked after now",
        "asked": "Asked for.",
        "undo": "Undo this merge …",
        "undo_it": "Undo it",
        "undone": "Undone.",
        "newest": "The newest wins",
        "keep": "Keep all",
        "by_hand": "Write it by hand",
        "make_one": "Make it one",
        "objects": "The verification objects:",
        "anyway": "I wrote this text",
        "against": "against the verification",
        "decided": "Decided.",
        "kept": "decided: all stay",
        "out": "Log out",
    },
    "zh": {
        "login": "登录",
        "wrong": "令牌不对。",
        "users": "用户",
        "merges": "合并记录",
        "conflicts": "冲突",
        "skipped": "已跳过",
        "now": "立即处理该用户",
        "asked": "已提出请求。",
        "undo": "撤销该合并…",
        "undo_it": "撤销",
        "undone": "已撤销。",
        "newest": "以最新为准",
        "keep": "全部保留",
        "by_hand": "手工撰写",
        "make_one": "合为一条",
        "objects": "校验有异议：",
        "anyway": "该文本由我撰写",
        "against": "不顾校验异议",
        "decided": "已决定。",
        "kept": "已决定：全部保留",
        "out": "退出",
    },
}

# Text that is harder to read than WCAG AA allows: its colour against that of whatever it lies on.
CONTRAST = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.5) return colour;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest("svg")) continue;
    const [a, b] = [luminance(rgb(getComputedStyle(element).color)), luminance(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push([element.textContent.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return bad;
}"""

# What a screen reader would stumble over.
UNNAMED = """() => {
  const bad = [];
  if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
  for (const tag of ["header", "main", "footer"]) if (!document.querySelector(tag)) bad.push("no " + tag);
  if (!document.documentElement.lang || !document.title) bad.push("no language or title");
  for (const field of document.querySelectorAll("input:not([type=hidden]), textarea, select"))
    if (!field.labels.length) bad.push(field.outerHTML);
  for (const one of document.querySelectorAll("a, button")) if (!one.textContent.trim()) bad.push(one.outerHTML);
  for (const head of document.querySelectorAll("th")) if (!head.scope) bad.push(head.outerHTML);
  const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
  if (new Set(ids).size !== ids.length) bad.push("an id is there twice");
  let level = 1;
  for (const head of document.querySelectorAll("h1, h2, h3, h4")) {
    const own = Number(head.tagName[1]);
    if (own > level + 1) bad.push("a heading is skipped before " + head.textContent);
    level = own;
  }
  return bad;
}"""


def seed(web):
    """Memories that say the same, that differ in a number, and that were overtaken."""
    for user, like, rent, drink in [
        ("ana", ("Prefers a window seat", "prefers a window seat."), "Rent is due on the {}", ("cola", "coffee")),
        ("用户一", ("喜欢靠窗的座位", "喜欢靠窗的座位。"), "Booked seat {} for the concert", ("tea", "water")),
    ]:
        web.remember(user, like[0], "2026-03-01", 0)
        web.remember(user, like[1], "2026-03-02", 0, 0.01)
        web.remember(user, rent.format("3rd"), "2026-03-03", 2)
        web.remember(user, rent.format("4th"), "2026-03-04", 2, 0.01)
        web.remember(user, f"Favourite drink is {drink[0]}", "2026-01-05", 4)
        web.remember(user, f"Favourite drink is {drink[1]}", "2026-02-05", 5)


def check(page: Page, name: str):
    """Keeps a picture of the page, and looks for what makes it hard to use."""
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
    assert page.evaluate(CONTRAST) == [], name
    assert page.evaluate(UNNAMED) == [], name
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than the window"


def log_in(page: Page, words: dict[str, str]):
    page.goto("/")
    expect(page).to_have_url(re.compile("/login$"))
    page.locator("#token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=words["out"])).to_be_visible()


@pytest.mark.parametrize(
    ("lang", "locale", "scheme"), [("en", "en-GB", "light"), ("zh", "zh-CN", "dark")], ids=["english-light", "chinese-dark"]
)
def test_a_person_logs_in_has_a_user_merged_undoes_it_and_decides(web, open_page, lang, locale, scheme):
    seed(web)
    user, words = ("ana" if lang == "en" else "用户一"), WORDS[lang]
    before = web.texts(user)
    page = open_page(locale=locale, color_scheme=scheme, viewport={"width": 1200, "height": 900})

    # A wrong token, then the right one.
    page.goto("/users")
    expect(page).to_have_url(re.compile("/login$"))
    page.locator("#token").fill("not the token at all")
    page.get_by_role("button", name=words["login"]).click()
    expect(page.get_by_role("alert")).to_have_text(words["wrong"])
    check(page, f"{lang}-login-wrong")
    # The browser itself tells of the 403 that came with it.
    open_page.complaints.clear()
    log_in(page, words)

    # A merge, asked for by a click.
    page.get_by_role("link", name=words["users"], exact=True).first.click()
    check(page, f"{lang}-users")
    page.get_by_role("link", name=user, exact=True).click()
    page.get_by_role("button", name=words["now"]).click()
    expect(page.get_by_role("status")).to_contain_text(words["asked"])
    until("the merge is made", lambda: len(web.texts(user)) == len(before) - 1)
    page.reload()
    check(page, f"{lang}-user")
    page.goto("/")
    check(page, f"{lang}-overview")
    page.get_by_role("link", name=words["merges"], exact=True).click()
    check(page, f"{lang}-merges")
    page.get_by_role("article").get_by_role("link").first.click()
    expect(page.locator(".tree > li li")).to_have_count(2)
    check(page, f"{lang}-merge")

    # Undone, after a look at what comes back.
    page.get_by_role("link", name=words["undo"]).click()
    expect(page.locator(".texts li")).to_have_count(2)
    check(page, f"{lang}-undo")
    page.get_by_role("button", name=words["undo_it"], exact=True).click()
    expect(page.get_by_role("status")).to_contain_text(words["undone"])
    check(page, f"{lang}-undone")
    assert web.texts(user) == before
    assert web.memfold("history", "--user", user)["entries"][0]["event"] == "undone"

    # A conflict, decided.
    page.get_by_role("link", name=words["conflicts"], exact=True).click()
    check(page, f"{lang}-conflicts")
    page.get_by_role("link", name=user, exact=True).click()
    page.locator("summary", has_text=words["by_hand"]).click()
    check(page, f"{lang}-user-conflicts")
    if lang == "en":
        page.get_by_role("button", name=words["newest"]).click()
        expect(page.get_by_role("status")).to_contain_text(words["decided"])
        expect(page.get_by_role("article")).to_have_count(0)
        assert len(web.texts(user)) == len(before) - 1
    else:
        page.get_by_role("button", name=words["keep"]).click()
        expect(page.get_by_text(words["kept"])).to_be_visible()
        assert web.texts(user) == before
    check(page, f"{lang}-decided")

    # What is left alone, and why.
    page.get_by_role("link", name=words["skipped"], exact=True).last.click()
    expect(page.locator("code", has_text="guard-objects").first).to_be_visible()
    check(page, f"{lang}-skipped")

    # Out, and nothing is shown any more.
    page.get_by_role("button", name=words["out"]).click()
    page.goto("/merges")
    expect(page).to_have_url(re.compile("/login$"))


def test_everything_can_be_read_on_a_phone_and_without_a_script(web, open_page):
    seed(web)
    merged = web.memfold("merge", "--user", "ana")["users"][0]["merged"][0]["merge_id"]
    page = open_page(java_script_enabled=False, viewport={"width": 360, "height": 740}, locale="en-GB")
    log_in(page, WORDS["en"])
    page.goto("/users")
    ana = page.get_by_role("link", name="ana", exact=True).get_attribute("href")
    for name, path, says in [
        ("overview", "/", "Last runs"),
        ("merges", "/merges", "Prefers a window seat"),
        ("merge", f"/merges/{merged}", "Where it came from"),
        ("plan", f"{ana}/plan", "Nothing would be merged"),
        ("conflicts", f"{ana}/conflicts", "Favourite drink is coffee"),
        ("skipped", f"{ana}/skipped", "Rent is due on the 3rd"),
    ]:
        page.goto(path)
        expect(page.get_by_text(says).first).to_be_visible()
        page.screenshot(path=SCREENSHOTS / f"phone-{name}.png", full_page=True)
    # The same pages with a script, which tells whether they fit.
    fits = open_page(viewport={"width": 360, "height": 740}, locale="en-GB", color_scheme="dark")
    log_in(fits, WORDS["en"])
    for path in ["/", "/users", "/merges", f"/merges/{merged}", f"{ana}/conflicts", f"{ana}/skipped"]:
        fits.goto(path)
        assert fits.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert fits.evaluate(CONTRAST) == [], path


def test_the_overview_keeps_itself_fresh_and_the_keyboard_suffices(web, open_page):
    seed(web)
    page = open_page(locale="en-GB")
    log_in(page, WORDS["en"])
    # The first stop of the keyboard leads past the navigation.
    page.keyboard.press("Tab")
    focused = "document.activeElement.textContent"
    assert page.evaluate(focused) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.evaluate("document.activeElement.blur()")
    runs = page.locator("#live tbody tr td").nth(1)
    expect(runs).to_have_text("0")
    ana = next(user for user in web.ask("GET", "/api/v1/users")[2]["users"] if user["user"] == "ana")
    web.ask("POST", f"/api/v1/users/{ana['id']}/requests")
    # A worker tells of itself every 10 seconds, and the page looks every 5.
    expect(runs).to_have_text("1", timeout=25_000)


def test_who_wrote_a_text_may_take_it_against_the_verification(web, open_page):
    seed(web)
    words, before = WORDS["en"], web.texts("ana")
    page = open_page(locale="en-GB", viewport={"width": 1200, "height": 900})
    log_in(page, words)
    page.goto("/conflicts")
    page.get_by_role("link", name="ana", exact=True).click()
    page.locator("summary", has_text=words["by_hand"]).click()
    # The new value alone leaves the old one out: it is told, and nothing is done.
    expect(page.get_by_label(words["anyway"])).to_have_count(0)
    page.get_by_role("button", name=words["make_one"]).click()
    expect(page.get_by_role("alert")).to_contain_text(words["objects"])
    expect(page.get_by_role("alert")).to_contain_text("cola")
    expect(page.get_by_role("textbox")).to_have_value("Favourite drink is coffee")
    check(page, "en-conflict-refused")
    assert web.texts("ana") == before
    # The browser itself tells of the 409 that came with it.
    open_page.complaints.clear()

    # Said again by whoever wrote it, it is done, and the record tells what was overridden.
    page.get_by_label(words["anyway"]).check()
    page.get_by_role("button", name=words["make_one"]).click()
    expect(page.get_by_role("status")).to_contain_text(words["decided"])
    assert len(web.texts("ana")) == len(before) - 1
    merge = web.memfold("history", "--user", "ana")["entries"][0]["merge_id"]
    page.goto(f"/merges/{merge}")
    expect(page.get_by_role("main")).to_contain_text(words["against"])
    expect(page.locator("#evidence ~ .facts li").first).to_contain_text("cola")
    check(page, "en-merge-anyway")
    page.get_by_role("link", name=words["undo"]).click()
    page.get_by_role("button", name=words["undo_it"], exact=True).click()
    assert web.texts("ana") == before


def test_counts_are_kept_day_by_day_and_shown(web, open_page):
    seed(web)
    web.memfold("request", "--user", "ana")
    (state,) = until("ana was looked after", lambda: list(web.redis.scan_iter("memfold:state:*")))
    remembered = until("her memories are counted", lambda: json.loads(web.redis.get(state))["state"].get("counts"))
    ((today, count),) = remembered
    assert (today, count) == (int(web.redis.time()[0]) // 86400, 5)

    # Of earlier days: two points stand for all of them.
    stored = json.loads(web.redis.get(state))
    stored["state"]["counts"] = [[today - 4, 7], [today, 5]]
    web.redis.set(state, json.dumps(stored), keepttl=True)
    of_store = "memfold:counts:redisvl:agent_memories"
    assert web.redis.ttl(of_store) > 86400
    counts = {"users": [[today - 2, 2]], "memories": [[today - 2, 12], [today - 1, 11]]}
    web.redis.set(of_store, json.dumps(counts), keepttl=True)
    page = open_page(locale="en-GB", viewport={"width": 1200, "height": 900})
    log_in(page, WORDS["en"])
    for label, times in [("users: 2", 3), ("memories: 12", 1), ("memories: 11", 2)]:
        expect(page.locator("figure title", has_text=label)).to_have_count(times)
    check(page, "en-overview-counts")
    page.goto("/users")
    expect(page.get_by_role("row", name="ana")).to_contain_text("from 7")
    page.get_by_role("link", name="ana", exact=True).click()
    expect(page.locator("figure title", has_text="memories: 7")).to_have_count(4)
    expect(page.locator("figure title", has_text="memories: 5")).to_have_count(1)
    check(page, "en-user-counts")
    _, _, metrics = web.ask("GET", "/api/v1/metrics")
    assert [day["memories"] for day in metrics["days"]][-4:] == [None, 12, 11, 11]

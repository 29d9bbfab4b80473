/* Sorts, filters and opens the cases of a report. State is in the URL's fragment. */
(() => {
  'use strict';
  const PAGE = 15; // rows of a section drawn at once
  const { $, el, number, all, copying, numbers, repeated, contents } = yieldpointCase;
  const content = id => document.getElementById(id).textContent;

  /* -- cases --------------------------------------------------------------------------------- */

  const sections = $('section.cases').map(section => {
    const table = section.querySelector('table.c');
    const units = [...table.tBodies].map(body => {
      const cells = body.rows[0].cells;
      const id = cells[1].firstChild.textContent;
      const tags = cells[1].childElementCount > 1 ? cells[1].lastChild.textContent : '';
      return { body, cells, id, tags: tags.split(' '), outcome: cells[0].textContent, device: cells[2].textContent,
        text: (id + ' ' + tags + ' ' + cells[0].textContent).toLowerCase(), number: +body.id.slice(1) };
    });
    return { section, table, units, drawn: units, limit: PAGE, count: section.querySelector('h2 b'),
      fold: section.querySelector('details'), more: null };
  });
  const units = sections.flatMap(s => s.units);
  const byId = new Map(units.map(unit => [unit.id, unit]));

  /* -- state: #q=TEXT&tag=TAG&outcome=O&device=D&sort=-COLUMN&case=ID ------------------------ */

  let state = new URLSearchParams();
  function link(changes) {
    const next = new URLSearchParams(state);
    for (const [key, value] of Object.entries(changes))
      if (value) next.set(key, value);
      else next.delete(key);
    return '#' + next;
  }
  function go(changes, replace) {
    const hash = link(changes);
    if (replace) {
      history.replaceState(null, '', hash === '#' ? location.pathname + location.search : hash);
      follow();
    } else location.hash = hash;
  }

  /* -- sorting and filtering ------------------------------------------------------------------ */

  const COLUMNS = { outcome: 0, case: 1, device: 2, time: 3, ceiling: 5, memory: 6, change: 7 };
  let sorted = null;
  function keyOf(unit, column) {
    const text = unit.cells[column].textContent;
    if (column < 3) return text;
    const first = unit.cells[column].querySelector('i');
    const figure = column === 3 && first ? first.lastChild.textContent
      : column === 7 ? text.replace(/^[^\u00d7]*\u00d7?/, '') : first ? first.textContent : text;
    return number(figure);
  }
  function compare(a, b) {
    if (typeof a === 'string') return a < b ? -1 : a > b ? 1 : 0;
    return isNaN(a) - isNaN(b) || a - b || 0;
  }
  function sort(by) {
    if (by === sorted) return;
    const column = COLUMNS[by.replace('-', '')];
    const sign = by.startsWith('-') ? -1 : 1;
    for (const s of sections) {
      const keys = new Map(column == null ? [] : s.units.map(unit => [unit, keyOf(unit, column)]));
      const empty = unit => typeof keys.get(unit) === 'number' && isNaN(keys.get(unit));
      s.units.sort((a, b) => (column == null || empty(a) !== empty(b) ? 0 : sign * compare(keys.get(a), keys.get(b))) ||
        (column == null ? 0 : empty(a) - empty(b)) || a.number - b.number);
      [...s.table.tHead.rows[0].cells].forEach((th, i) => {
        if (i === column) th.setAttribute('aria-sort', sign < 0 ? 'descending' : 'ascending');
        else th.removeAttribute('aria-sort');
      });
    }
    sorted = by;
  }

  /* One pass over the cases. The document has only the rows that are drawn: others cost the browser nothing. */
  function filter() {
    const words = (state.get('q') || '').toLowerCase().split(/\s+/).filter(Boolean);
    const [tag, outcome, device] = ['tag', 'outcome', 'device'].map(key => state.get(key));
    const active = words.length > 0 || tag || outcome || device;
    let found = 0;
    for (const s of sections) {
      s.matches = s.units.filter(unit => (!tag || unit.tags.includes(tag)) && (!outcome || unit.outcome === outcome) &&
        (!device || unit.device === device) && words.every(word => unit.text.includes(word)));
      draw(s, s.limit);
      const here = s.matches.length;
      found += here;
      s.count.textContent = active ? `${here} of ${s.units.length}` : s.units.length;
      s.more.hidden = here <= s.limit;
      s.more.textContent = `Show ${here - s.limit} more`;
      if (s.fold && active) s.fold.open = here > 0;
      else if (s.fold && s.was) s.fold.open = false;
      s.was = active;
    }
    told.textContent = active ? `${found} of ${units.length} cases` : '';
  }

  function draw(s, limit) {
    const drawn = s.matches.slice(0, limit);
    if (drawn.length !== s.drawn.length || drawn.some((unit, i) => unit !== s.drawn[i]))
      s.table.replaceChildren(s.table.caption, s.table.tHead, ...drawn.map(unit => unit.body));
    s.drawn = drawn;
  }
  window.addEventListener('beforeprint', () => sections.forEach(s => draw(s, Infinity)));
  window.addEventListener('afterprint', () => sections.forEach(s => draw(s, s.limit)));

  /* -- the tools above the tables -------------------------------------------------------------- */

  const told = el('span', { id: 'told', role: 'status' });
  const search = el('input', { type: 'search', placeholder: 'Filter by id, tag, outcome', 'aria-label': 'Filter cases',
    input: () => go({ q: search.value }, true) });
  function choice(key, values) {
    const box = el('select', { 'aria-label': key, change: () => go({ [key]: box.value }, true) },
      el('option', { value: '' }, `any ${key}`),
      [...new Set(values)].filter(Boolean).sort().map(value => el('option', { value }, value)));
    box.key = key;
    return box;
  }
  const choices = [choice('tag', units.flatMap(u => u.tags)), choice('outcome', units.map(u => u.outcome)),
    choice('device', units.map(u => u.device))];
  const THEMES = ['auto', 'dark', 'light'];
  const theme = el('button', { type: 'button', class: 'quiet', id: 'theme', click: () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || 'auto') + 1) % 3];
    dress(next);
    try { localStorage.setItem('yieldpoint-theme', next); } catch { /* a page from disk may have none */ }
  } });
  function dress(name) {
    if (name === 'dark' || name === 'light') document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    theme.textContent = `theme: ${THEMES.includes(name) ? name : 'auto'}`;
  }
  let kept = 'auto';
  try { kept = localStorage.getItem('yieldpoint-theme') || 'auto'; } catch { /* likewise */ }
  dress(kept);

  document.getElementById('tools').append(search, ...choices, told);
  document.querySelector('.top').append(theme);
  for (const line of $('.r')) line.append(copying('copy', () => line.querySelector('code').textContent));
  for (const s of sections) {
    for (const th of s.table.tHead.rows[0].cells) {
      const name = th.textContent.trim();
      if (name in COLUMNS)
        th.replaceChildren(el('button', { type: 'button', title: `sort by ${name}`,
          click: () => go({ sort: state.get('sort') === name ? '-' + name : state.get('sort') === '-' + name ? '' : name },
            true) }, name));
    }
    s.more = el('button', { type: 'button', class: 'more', click: () => { s.limit += PAGE; filter(); } });
    s.table.after(s.more);
    new IntersectionObserver(seen => { if (seen.at(-1).isIntersecting) s.more.click(); }, { rootMargin: '50%' }).observe(s.more);
  }
  document.addEventListener('click', event => {
    const anchor = event.target.closest('tbody th a[href^="#c"]');
    const mark = event.target.closest('[data-case]');
    const id = anchor ? anchor.textContent : mark ? mark.dataset.case : '';
    if (!byId.has(id) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({ case: id });
  });
  /* So that a link that is copied, or opened in another tab, is that of the case. */
  for (const kind of ['pointerover', 'focusin'])
    document.addEventListener(kind, event => {
      const anchor = event.target.closest && event.target.closest('tbody th a[href^="#c"]');
      if (anchor && byId.has(anchor.textContent)) anchor.href = '#case=' + encodeURIComponent(anchor.textContent);
    });
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || /INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName) || dialog.open) return;
    event.preventDefault();
    search.focus();
  });

  /* -- plots: what a mark is, below the plot ---------------------------------------------------- */

  for (const figure of $('#plots figure')) {
    const output = figure.querySelector('output');
    const marks = $('[data-case]', figure);
    for (const mark of marks) {
      const name = mark.querySelector('title');
      mark.setAttribute('tabindex', 0);
      mark.setAttribute('role', 'link');
      mark.setAttribute('aria-label', name ? name.textContent : mark.dataset.case);
      mark.addEventListener('keydown', event => { if (event.key === 'Enter') mark.dispatchEvent(new MouseEvent('click', { bubbles: true })); });
    }
    for (const kind of ['pointerover', 'focusin'])
      figure.addEventListener(kind, event => {
        const mark = event.target.closest('svg *');
        const title = mark && mark.querySelector(':scope > title');
        if (title) output.textContent = title.textContent;
      });
  }

  const dialog = document.getElementById('case');
  const chunks = new Map();
  let from = null, opened = null;
  function open(unit) {
    const at = Math.floor(unit.number / all.chunk);
    if (!chunks.has(at)) chunks.set(at, JSON.parse(content('d' + at), (_, value) => typeof value === 'number' ? all.pool[value] : value));
    const c = chunks.get(at)[unit.number % all.chunk];
    if (typeof c.P === 'string') { c.P = numbers(c.P); c.K = c.K && repeated(c.K); }
    dialog.replaceChildren(el('div', { class: 'bar' }, el('h2', { id: 'case-id', tabindex: -1 }, unit.id),
      copying('copy link', () => location.href.split('#')[0] + '#case=' + encodeURIComponent(unit.id)),
      el('button', { type: 'button', 'aria-label': 'Close', click: () => dialog.close() }, '\u2715')),
    el('div', { class: 'in' }, contents(unit, c)));
    opened = unit.id;
    if (!dialog.open) { from = document.activeElement; dialog.showModal(); }
    document.body.classList.add('open');
    dialog.scrollTop = 0;
    dialog.querySelector('h2').focus();
  }
  dialog.addEventListener('close', () => {
    if (dialog.open) return; // another case is open by now
    document.body.classList.remove('open');
    if (opened === new URLSearchParams(location.hash.slice(1)).get('case')) go({ case: '' }, true);
    if (from && from.isConnected) from.focus();
  });
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });

  /* -- following the fragment ------------------------------------------------------------------------ */

  function follow() {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes('=')) { // a place in the page
      const fold = document.getElementById(hash)?.querySelector('details');
      if (fold) fold.open = true;
      return;
    }
    state = new URLSearchParams(hash);
    if (search.value !== (state.get('q') || '')) search.value = state.get('q') || '';
    for (const box of choices) box.value = state.get(box.key) || '';
    sort(state.get('sort') || '');
    filter();
    const unit = byId.get(state.get('case'));
    if (unit) open(unit);
    else if (dialog.open) dialog.close();
  }
  for (const s of sections) for (const unit of s.units) unit.section = s.section.id;
  sorted = '';
  window.addEventListener('hashchange', follow);
  filter();
  follow();
})();

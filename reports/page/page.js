/* Sorts, filters and opens the cases of a report. What it shows is the text in the page: it formats no
 * figure, and takes numbers for its drawings from the texts. State is in the URL's fragment. */
(() => {
  'use strict';
  const PAGE = 20; // rows of a section drawn at once
  const SVG = 'http://www.w3.org/2000/svg';
  const $ = (selector, root = document) => [...root.querySelectorAll(selector)];

  function node(space, name, attributes, children) {
    const made = space ? document.createElementNS(space, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {}))
      if (typeof value === 'function') made.addEventListener(key, value);
      else if (value !== false && value != null) made.setAttribute(key, value);
    made.append(...children.flat(9).filter(child => child != null && child !== '' && child !== false));
    return made;
  }
  const el = (name, attributes, ...children) => node(null, name, attributes, children);
  const svg = (name, attributes, ...children) => node(SVG, name, attributes, children);

  /* "1.234 ms" as 0.001234; only figures of one kind are compared. */
  const UNITS = { ps: 1e-12, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, B: 1,
    KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50 };
  function number(text) {
    const found = /(-?(?:[\d.]+(?:e[-+]?\d+)?|inf))(?: (\w+))?/.exec(text || '');
    if (!found) return NaN;
    return (found[1].endsWith('inf') ? parseFloat(found[1].replace('inf', 'Infinity')) : parseFloat(found[1])) *
      (UNITS[found[2]] || 1);
  }
  const content = id => document.getElementById(id).textContent;
  const all = JSON.parse(content('all'));

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

  function copying(what, text) {
    return el('button', { type: 'button', click: async event => {
      const button = event.currentTarget;
      try { await navigator.clipboard.writeText(text()); } catch {
        const area = el('textarea', {}, text());
        button.after(area);
        area.select();
        document.execCommand('copy');
        area.remove();
        button.focus();
      }
      button.textContent = 'copied';
      setTimeout(() => { button.textContent = what; }, 1500);
    } }, what);
  }

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

  /* -- drawings of a case ------------------------------------------------------------------------ */

  const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const positions = text => Array.from({ length: text.length / 2 },
    (_, i) => (64 * LETTERS.indexOf(text[2 * i]) + LETTERS.indexOf(text[2 * i + 1])) / 4095);
  const picture = (height, label, ...children) =>
    svg('svg', { class: 'draw', viewBox: `0 0 640 ${height}`, role: 'img', 'aria-label': label }, ...children);
  const line = (look, x1, y1, x2, y2) => svg('line', { class: look, x1, y1, x2, y2 });
  const write = (x, y, text, anchor) => svg('text', { x, y, 'text-anchor': anchor || 'start' }, text);

  function strip(m) {
    const [median, low, high] = m.e.map(number);
    const [min, max] = m.d.map(number);
    const place = value => 8 + 624 * (max > min ? Math.min(1, Math.max(0, (value - min) / (max - min))) : .5);
    const points = positions(m.s);
    const left = place(low), right = place(high);
    return [picture(54, `${m.l[0]} samples from ${m.d[0]} to ${m.d[1]}`,
      isNaN(low) ? '' : svg('rect', { class: 'band', x: left, y: 2, width: Math.max(2, right - left), height: 32 }),
      line('axis', 8, 34.5, 632, 34.5),
      points.map((at, i) => svg('circle', { class: 'dots', cx: 8 + 624 * at, cy: 18 + 9 * ((i * 7) % 5 - 2) / 2, r: 3 })),
      line('median', place(median), 2, place(median), 34), write(8, 49, m.d[0]), write(632, 49, m.d[1], 'end')),
    el('small', {}, +m.l[0] > points.length
      ? `${m.l[0]} samples, drawn as ${points.length} quantiles between both extremes; band: the interval of the median`
      : `${m.l[0]} samples; band: the interval of the median`)];
  }

  function phases(list) {
    const parts = [];
    for (let i = 0; i < list.length; i += 2) parts.push({ name: list[i], text: list[i + 1], size: number(list[i + 1]) || 0 });
    const sum = parts.reduce((total, part) => total + part.size, 0) || 1;
    let x = 0;
    return [picture(26, 'Time by phase', parts.map((part, i) => {
      const width = 640 * part.size / sum;
      x += width;
      return svg('rect', { x: x - width, y: 2, width: Math.max(.5, width - 1), height: 22, style: `fill:var(--c${i % 6})` },
        svg('title', {}, `${part.name}: ${part.text}`));
    })), el('table', { class: 'figures' }, el('caption', {}, 'Time by phase'), parts.map((part, i) => el('tr', {},
      el('th', { scope: 'row', class: 'l' }, el('span', { class: 'key', style: `background:var(--c${i % 6})` }), part.name),
      el('td', {}, part.text))))];
  }

  /* The past of one figure: texts [value, low, high] by run; a click or an arrow key picks a point. */
  function past(title, c, texts, changes) {
    const points = texts.map((t, i) => ({ t, i, v: number(t[0]), low: number(t[1]), high: number(t[2]) }))
      .filter(point => isFinite(point.v));
    if (points.length < 2) return '';
    const ends = points.flatMap(p => [p.v, p.low, p.high]).filter(isFinite);
    const top = Math.max(...ends), bottom = Math.min(...ends);
    const x = i => 12 + 616 * (texts.length > 1 ? i / (texts.length - 1) : .5);
    const y = v => 100 - 80 * (top > bottom ? (v - bottom) / (top - bottom) : .5);
    const highest = points.reduce((a, b) => b.v > a.v ? b : a), lowest = points.reduce((a, b) => b.v < a.v ? b : a);
    const label = (p, dy) => write(Math.min(600, Math.max(40, x(p.i))), y(p.v) + dy, p.t[0], 'middle');
    const about = i => {
      const [run, date, commit, dirty] = all.runs[c.P[i]];
      return [date, commit ? `commit ${commit}${dirty ? ' with changes' : ''}` : 'no commit', `run ${run}`];
    };
    const picked = svg('circle', { class: 'picked', r: 6, fill: 'none', cx: -20, cy: 0 });
    const output = el('output', {}, changes.length
      ? `the level changes at ${changes.map(i => about(i).slice(0, 2).join(', ')).join('; ')}` : 'click a point');
    let at = points.length;
    const pick = k => {
      at = Math.max(0, Math.min(points.length - 1, k));
      const p = points[at];
      picked.setAttribute('cx', x(p.i));
      picked.setAttribute('cy', y(p.v));
      output.textContent = [...about(p.i), environment(c)[1], p.t[1] ? `${p.t[0]} [${p.t[1]}, ${p.t[2]}]` : p.t[0],
        c.K && title !== 'peak memory' ? `peak ${c.K[p.i]}` : '', c.O ? c.O[p.i] : 'passed'].filter(Boolean).join(' \u00b7 ');
    };
    const chart = picture(118, `${title}, ${points.length} results`,
      line('axis', 12, 108.5, 628, 108.5), changes.map(i => line('change', x(i - .5), 8, x(i - .5), 108)),
      points.map(p => isFinite(p.low) ? line('whisker', x(p.i), y(p.low), x(p.i), y(p.high)) : ''),
      svg('polyline', { class: 'path', points: points.map(p => `${x(p.i)},${y(p.v)}`).join(' ') }),
      points.map(p => svg('circle', { class: c.O && c.O[p.i] !== 'passed' ? 'bad' : 'dot', cx: x(p.i), cy: y(p.v), r: 3.2 })),
      picked, label(highest, -8), highest === lowest ? '' : label(lowest, 16));
    chart.setAttribute('tabindex', 0);
    chart.addEventListener('click', event => {
      const box = chart.getBoundingClientRect();
      const here = 640 * (event.clientX - box.left) / box.width;
      pick(points.reduce((best, p, k) => Math.abs(x(p.i) - here) < Math.abs(x(points[best].i) - here) ? k : best, 0));
    });
    chart.addEventListener('keydown', event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) { pick(at + step); event.preventDefault(); }
    });
    return [el('h4', {}, title), chart, output, fold('the numbers', grid(['date', 'commit', 'run', 'value', 'from', 'to'],
      points.map(p => [...about(p.i), ...p.t]), title))];
  }
  /* "0-2 7" as [0, 1, 2, 7]. */
  const numbers = text => text.split(' ').flatMap(span => {
    const [first, last] = span.split('-').map(Number);
    return Array.from({ length: (last ?? first) - first + 1 }, (_, i) => first + i);
  });
  /* Between bars; an empty one is that before. */
  const repeated = text => text.split('|').reduce((list, one) => [...list, one || list.at(-1) || ''], []).map(one => one === '-' ? '' : one);
  /* "1.2;1.1;1.3 ms|1.2": value, low, high; a unit holds until another comes. */
  function triples(text) {
    let unit = '';
    return text.split('|').map(point => {
      if (!point) return ['', '', ''];
      const parts = point.split(';');
      unit = parts.at(-1).includes(' ') ? parts.at(-1).slice(parts.at(-1).indexOf(' ')) : unit;
      return [0, 1, 2].map(i => !parts[i] || parts[i].includes(' ') ? parts[i] || '' : parts[i] + unit);
    });
  }

  /* -- a case -------------------------------------------------------------------------------------- */

  const fold = (title, ...children) => el('details', {}, el('summary', {}, title), ...children);
  const grid = (heads, rows, caption, look) => el('div', { class: 'wide' }, el('table', { class: look || 'figures' },
    el('caption', {}, caption), el('thead', {}, el('tr', {}, heads.map(head => el('th', { scope: 'col' }, head)))),
    el('tbody', {}, rows.map(row => el('tr', {}, row.map(cell => el('td', {}, cell)))))));
  const pairs = list => el('dl', {}, list.filter(([, value]) => value && value.length).map(([name, value]) =>
    [el('dt', {}, name), el('dd', {}, value)]));
  const environment = c => all.environment[c.i || 0] || ['', '', []];
  const reproduce = (c, unit) => (c.R || []).length === 3 ? c.R[0] + (c.R[1] === "'" ? `'${unit.id}'` : c.R[1] || unit.id) + c.R[2] : (c.R || [''])[0];
  const unit = text => text.slice((text + ' ').indexOf(' '));
  const interval = (low, high) => unit(low) && unit(low) === unit(high) ? low.slice(0, -unit(low).length) + '\u2013' + high : `${low} \u2013 ${high}`;
  const part = (title, ...children) => [el('h3', {}, title), children];

  function measurement(m, c) {
    const range = m.e && m.e[1] ? ` [${m.e[1]}, ${m.e[2]}]` : '';
    return part(m.n || 'measurement',
      m.e ? el('p', { class: 'big' }, m.e[0], el('small', {}, `${range} ${m.l[4]}`)) : el('p', {}, 'not timed'),
      (m.w || []).map(w => el('p', {}, w[0], el('small', {}, ` [${w[1]}, ${w[2]}]`))),
      m.o ? el('p', {}, m.o[0], el('small', {}, ` ${m.o[1] || ''}`)) : '',
      m.z ? el('p', {}, `Noise: ${m.z}`, m.Z ? el('small', {}, ` (${m.Z})`) : '') : '',
      m.s ? strip(m) : '',
      m.e ? grid(['p50', ...(m.q ? ['p90', 'p99', 'p99.9'].slice(0, m.q.length) : []), 'least', 'most', 'mean', 'sd', 'CV'],
        [[m.e[0], ...(m.q || []).map(q => q || 'too few'), ...m.d, m.v || '']], 'Latency') : '',
      el('small', {}, `${m.l[0]} samples of ${m.l[1]} iteration${m.l[1] === '1' ? '' : 's'} after ${m.l[2]} to warm up; stopped by: ${m.l[3]}`),
      m.p ? [el('h4', {}, 'phases'), phases(m.p)] : '',
      m.h ? [el('h4', {}, 'ceilings'), el('ul', {}, m.h.map(text => el('li', {}, text)))] : '',
      m.C ? [el('h4', {}, 'counters'), pairs(couples(m.C))] : '',
      m.y ? past(`history of ${m.n || 'time'}`, c, triples(m.y), m.c ? m.c.split(' ').map(Number) : []) : '');
  }
  const couples = list => list.filter((_, i) => i % 2 === 0).map((name, i) => [name, list[2 * i + 1]]);

  function memory(c) {
    const predicted = (c.b || []).filter(b => b[7]);
    const sizes = (c.k || []).flatMap(k => [k[1], k[2], k[6]]).concat(predicted.map(b => b[5])).map(number).filter(isFinite);
    const most = Math.max(1, ...sizes);
    const width = text => 640 * (number(text) || 0) / most;
    return part('Memory', (c.k || []).map(k => {
      const limits = predicted.filter(b => b[7] === k[0]);
      return [el('h4', {}, k[0]), picture(20, `${k[0]}: peak ${k[1]} allocated, ${k[2]} reserved`,
        svg('rect', { class: 'band', x: 0, y: 3, width: width(k[2]), height: 14 }),
        svg('rect', { class: 'dot', x: 0, y: 6, width: width(k[1]), height: 8 }),
        limits.map(b => line('limit', Math.min(639, width(b[5])), 1, Math.min(639, width(b[5])), 19))),
      pairs([['peak allocated', k[1]], ['peak reserved', k[2]], ['at the end', k[3]],
        ['allocations', `${k[5]} of ${k[4]} in all`], ['limit', k[6]],
        ...limits.map(b => ['predicted', `${b[1]} (${b[0]})`])])];
    }), c.q ? el('p', {}, `resident: peak ${c.q[0]}, ${c.q[1]} before setup${c.q[2] ? `; leaked: ${c.q[2]}` : ''}`) : '',
    !c.K || c.K.length < 2 ? '' : new Set(c.K).size === 1 ? el('p', {}, `the same peak in all ${c.K.length} results of its past`)
      : past('peak memory', c, c.K.map(text => [text, '', '']), []));
  }

  function series(list) {
    return part('Device over time', el('div', { class: 'series' }, list.map(s => s[0] === 'throttled'
      ? el('div', {}, el('h4', {}, 'slowed down'), `in ${s[3]} of ${s[1]} looks${s[4] ? `, by ${s[4]}` : ''}`)
      : el('div', {}, el('h4', {}, s[0]), picture(150, `${s[0]} from ${s[3]} to ${s[5]}`, line('axis', 0, 149, 640, 149),
        svg('polyline', { class: 'path', style: 'stroke-width:4', points: positions(s[6]).map((v, i) =>
          i % 2 ? 145 - 140 * v : 640 * v + ',').reduce((text, piece, i) => text + piece + (i % 2 ? ' ' : ''), '') })),
      el('small', {}, `${s[4]}, from ${s[3]} to ${s[5]}; ${s[1]} looks in ${s[2]}`)))));
  }

  function budgets(list) {
    const limit = b => b[5] || '';
    return part('Budgets', grid(['verdict', 'budget', 'measured', 'interval', 'limit', 'distance', ''], list.map(b => {
      const ends = [b[2], b[3], b[4], limit(b)].map(number);
      const most = Math.max(...ends.filter(isFinite), 0) * 1.15 || 1;
      const x = v => 160 * Math.max(0, v) / most;
      return [el('b', { class: 'tag ' + (b[0] === 'met' ? 'passed' : b[0] === 'not met' ? 'failed' : 'undecided') }, b[0]),
        [b[1], [8, 9, 10].map(i => b[i] ? [el('br'), el('small', {}, (i === 8 ? 'ceiling of ' : i === 9 ? 'required: ' : 'baseline: ') + b[i])] : '')],
        b[2], b[3] && b[4] ? interval(b[3], b[4]) : '', limit(b), b[6],
        isFinite(ends[0]) && isFinite(ends[3]) ? svg('svg', { width: 160, height: 16, role: 'img', 'aria-label': `measured ${b[2]}, limit ${b[5]}` },
          svg('rect', { class: 'dot', x: 0, y: 5, width: x(ends[0]), height: 6 }),
          isFinite(ends[1]) ? line('median', x(ends[1]), 8, x(ends[2]), 8) : '', line('limit', x(ends[3]), 0, x(ends[3]), 16)) : ''];
    }), 'Budgets', 'b'));
  }

  function contents(unit, c) {
    const [run, , differs] = environment(c);
    return [
      el('p', {}, el('span', { class: 'tag ' + unit.section }, unit.outcome), c.n ? ` \u2013 ${c.n}` : '', c.N ? el('small', {}, ` ${c.N}`) : ''),
      (c.f || []).map(f => [el('p', {}, el('b', {}, f[0]), ' ', el('code', {}, f[1])), f[2] ? el('pre', {}, f[2]) : '',
        f[3] ? fold('stack', el('pre', {}, f[3])) : '']),
      c.R ? el('p', { class: 'r' }, el('span', {}, 'reproduce'), el('code', {}, reproduce(c, unit)), copying('copy', () => reproduce(c, unit))) : '',
      c.d ? part('Changes', el('ul', {}, c.d.map(d => el('li', {}, d[0], ` (${d[1]})`)))) : '',
      c.b ? budgets(c.b) : '',
      (c.m || []).map(m => measurement(m, c)),
      c.v ? part('Values', grid(['name', 'value', 'from', 'to'], c.v, 'Values')) : '',
      c.g ? part('Gradients', grid(['name', 'error', 'allowed', 'tensor'], c.g, 'Gradients')) : '',
      c.k ? memory(c) : '',
      c.a ? series(c.a) : '',
      part('Result', pairs([['tags', unit.tags.join(' ')], ['device', unit.device],
        ['axes', (c.x ? couples(c.x) : []).map(axis => axis.join(' = ')).join(', ')],
        ['time', c.t ? `process ${c.t[0]}${c.t[4] ? ` of ${c.t[4]} allowed` : ''}; setup ${c.t[1]}, body ${c.t[2]}, teardown ${c.t[3]}` : ''],
        ['process', c.E], ['seed', c.S], ['data hash', c.H], ['result', c.r], ['run', run]])),
      differs.length ? part('Environment that differs from the run before', grid(['fact', 'now', 'before'], differs, 'Differences', 'e')) : '',
      c.T ? part('Output, its end', el('pre', {}, c.T)) : ''];
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

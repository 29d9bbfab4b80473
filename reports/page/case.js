/* A case of a report as elements, drawn from its JSON (README.md has the shape). What it shows is the text in the page:
 * it formats no figure, and takes numbers for its drawings from the texts. The one global name of a page. */
const yieldpointCase = (() => {
  'use strict';
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
  const PREFIXES = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, Z: 1e21 };
  const factor = unit => UNITS[unit] || PREFIXES[/^([kMGTPEZ])(B|FLOP)?$/.exec(unit || '')?.[1]] || 1;
  function number(text) {
    const found = /(-?(?:[\d.]+(?:e[-+]?\d+)?|inf))(?: (\w+))?/.exec(text || '');
    if (!found) return NaN;
    return (found[1].endsWith('inf') ? parseFloat(found[1].replace('inf', 'Infinity')) : parseFloat(found[1])) *
      factor(found[2]);
  }
  const all = JSON.parse(document.getElementById('all').textContent);

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

  return { $, el, number, all, copying, numbers, repeated, contents };
})();

'use strict';
// Shows one schedule of a report, step by step. All text is set as text, never as
// markup, so names in files cannot add any.

const data = JSON.parse(document.getElementById('data').textContent);
const at = { schedule: 0, step: -1, part: 0.5, playing: false }; // step -1: all together
const byId = (id) => document.getElementById(id);
const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
const svgNames = 'http://www.w3.org/2000/svg';
const links = new Map();
for (const path of document.querySelectorAll('#graph [data-link]'))
  links.set(path.dataset.link, path);
const dots = document.createElementNS(svgNames, 'g');
document.querySelector('#graph svg').append(dots);

const current = () => data.schedules[at.schedule];
const nameOf = (spot) => data.spots[spot];

function fill(id, tag, texts) {
  byId(id).replaceChildren(...texts.map((text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  }));
}

function fillTable(id, head, rows) {
  byId(id).replaceChildren(...[head, ...rows].map((row, number) => {
    const line = document.createElement('tr');
    for (const cell of row) {
      const element = document.createElement(number === 0 ? 'th' : 'td');
      if (typeof cell === 'number') element.className = 'number';
      element.textContent = cell;
      line.append(element);
    }
    return line;
  }));
}

// What goes over a link in a step, as the file has it.
function readMove([src, dst, count, chunks, reduces]) {
  const more = count > chunks.length ? ` and ${count - chunks.length} more` : '';
  const text = `${nameOf(src)} \u2192 ${nameOf(dst)}: ${reduces ? 'reduce ' : ''}` +
    `chunk${count > 1 ? 's' : ''} ${chunks.join(', ')}${more}`;
  return { src, dst, count, chunks, reduces, text };
}

function shadeOf(use) {
  return use <= 0 ? 0 : use < 50 ? 1 : use < 80 ? 2 : use < 100 ? 3 : 4;
}

// The paths in the picture from one spot to another: a link, or those by hubs.
function wayOf(src, dst) {
  const [a, b] = [data.hubs[src], data.hubs[dst]];
  const ends = data.hubs.length === 0 ? [[src, dst]] :
    [[src, a], [a, b], [b, dst]].filter(([from, to]) => from !== to);
  const paths = ends.map(([from, to]) => links.get(`${from}-${to}`));
  return paths.includes(undefined) ? [] : paths;
}

function showLoads() {
  for (const path of links.values()) path.setAttribute('class', 'link load0');
  for (const [src, dst, chunks, use] of current().uses) {
    const path = links.get(`${src}-${dst}`);
    if (!path) continue;
    path.setAttribute('class', `link load${shadeOf(use)}`);
    path.querySelector('title').textContent =
      `${nameOf(src)} \u2192 ${nameOf(dst)}: ${chunks} chunks, busy ${use} %`;
  }
}

function showMoves(moves) {
  for (const path of links.values()) path.setAttribute('class', 'link load0 idle');
  dots.replaceChildren();
  for (const move of moves) {
    const way = wayOf(move.src, move.dst);
    if (way.length === 0) continue;
    for (const path of way) path.setAttribute('class', 'link load2');
    const dot = document.createElementNS(svgNames, 'circle');
    const hue = Math.floor(move.chunks[0] / data.chunksOfSegment) % 8;
    dot.setAttribute('class', `chunk hue${hue}${move.reduces ? ' reduced' : ''}`);
    dot.setAttribute('r', Math.min(4 + Math.log2(move.count), 9));
    dot.way = way.map((path) => ({ path, length: path.getTotalLength() }));
    dots.append(dot);
  }
  placeDots();
}

function placeDots() {
  for (const dot of dots.children) {
    let rest = at.part * dot.way.reduce((sum, { length }) => sum + length, 0);
    let { path, length } = dot.way[0];
    for (let i = 1; rest > length && i < dot.way.length; ++i) {
      rest -= length;
      ({ path, length } = dot.way[i]);
    }
    const point = path.getPointAtLength(rest);
    dot.setAttribute('cx', point.x.toFixed(1));
    dot.setAttribute('cy', point.y.toFixed(1));
  }
}

function showStep() {
  const steps = current().steps;
  byId('step').value = at.step + 1;
  byId('overview').hidden = at.step >= 0;
  byId('ofStep').hidden = at.step < 0;
  if (at.step < 0) {
    dots.replaceChildren();
    showLoads();
    byId('where').textContent = `all ${steps.length} steps, ${current().rounds} rounds`;
    return;
  }
  const step = steps[at.step];
  const moves = step.moves.map(readMove);
  showMoves(moves);
  const shown = moves.slice(0, 400).map((move) => move.text);
  if (shown.length < moves.length) shown.push(`${moves.length - shown.length} more`);
  fill('moves', 'li', shown);
  byId('where').textContent = `step ${at.step} of 0 to ${steps.length - 1}, ${step.rounds} ` +
    `round${step.rounds === 1 ? '' : 's'}, ${step.sends} sends`;
}

function showSchedule() {
  const schedule = current();
  byId('schedule').value = at.schedule;
  byId('step').max = schedule.steps.length;
  byId('clock').textContent = data.clock;
  byId('summary').textContent = `${schedule.name}: ${schedule.size}, R/C = ` +
    `${schedule.cost}${schedule.optimal ? ', optimal for its steps' : ''}`;
  fill('limits', 'li', schedule.limits);
  fill('faster', 'li', schedule.faster);
  fill('certificate', 'li', schedule.certificate);
  fillTable('loads', ['limits', 'such as', 'chunks', 'rounds'],
    schedule.loads.map(([count, names, ...load]) =>
      [count, names.replaceAll(' -> ', '\u00a0\u2192\u00a0'), ...load]));
  for (const mark of document.querySelectorAll('#frontier [data-schedule]'))
    mark.classList.toggle('selected', Number(mark.dataset.schedule) === at.schedule);
  showStep();
}

function go(schedule, step) {
  at.schedule = Math.min(Math.max(schedule, 0), data.schedules.length - 1);
  at.step = Math.min(Math.max(step, -1), current().steps.length - 1);
  at.part = 0.5;
  showSchedule();
}

let before = 0;
function tick(now) {
  if (!at.playing) return;
  const duration = 1400;
  at.part += Math.min(now - before, 100) / duration;
  before = now;
  if (at.part >= 1 || at.step < 0) {
    at.part = 0;
    at.step = at.step + 1 < current().steps.length ? at.step + 1 : 0;
    showStep();
  }
  placeDots();
  requestAnimationFrame(tick);
}

function play() {
  at.playing = !at.playing;
  byId('play').textContent = at.playing ? 'pause' : 'play';
  if (!at.playing) return;
  if (still) {
    at.playing = false;
    byId('play').textContent = 'play';
    go(at.schedule, at.step + 1);
    return;
  }
  before = performance.now();
  requestAnimationFrame(tick);
}

function changeTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' :
    matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
}

const keys = {
  ArrowLeft: () => go(at.schedule, at.step - 1),
  ArrowRight: () => go(at.schedule, at.step + 1),
  ArrowUp: () => go(at.schedule - 1, -1),
  ArrowDown: () => go(at.schedule + 1, -1),
  Home: () => go(at.schedule, -1),
  End: () => go(at.schedule, current().steps.length - 1),
  ' ': play,
  d: changeTheme,
};
document.addEventListener('keydown', (event) => {
  const isControl = ['SELECT', 'INPUT', 'BUTTON'].includes(event.target.tagName);
  if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isControl && event.key !== 'd') return;
  event.preventDefault();
  keys[event.key]();
});
byId('back').onclick = keys.ArrowLeft;
byId('next').onclick = keys.ArrowRight;
byId('play').onclick = play;
byId('theme').onclick = changeTheme;
byId('schedule').onchange = (event) => go(Number(event.target.value), -1);
byId('step').oninput = (event) => go(at.schedule, Number(event.target.value) - 1);

function start() {
  document.title = byId('title').textContent = data.title;
  byId('schedule').replaceChildren(...data.schedules.map((schedule, number) =>
    new Option(`${schedule.name} (${schedule.size})`, number)));
  const numbers = new Map(data.schedules.map((schedule, number) =>
    [schedule.point, number]));
  for (const mark of document.querySelectorAll('#frontier [data-point]')) {
    if (!numbers.has(mark.dataset.point)) continue;
    mark.dataset.schedule = numbers.get(mark.dataset.point);
    mark.onclick = () => go(Number(mark.dataset.schedule), -1);
  }
  byId('measured-section').hidden = data.measured.length === 0;
  fillTable('measured', ['size', 'time', 'times the bound', 'from'], data.measured);
  // Links to a step: report.html#1,2 is step 2 of schedule 1.
  const [schedule, step] = location.hash.slice(1).split(',').map(Number);
  go(schedule || 0, Number.isInteger(step) ? step : -1);
}
start();

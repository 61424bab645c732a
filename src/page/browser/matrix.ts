/** Networks × networks. Of any number of them only the cells in sight are there. */
import { OUTSIDE } from '../../reach/way.ts';
import type { Pairs } from '../pairs.ts';
import { lookOf } from './cells.ts';
import { element } from './dom.ts';
import type { Place } from './places.ts';

/** Pixels; the style has the same. */
const CELL = 26;
/** Cells beyond the edge that are there, too: what scrolls in is drawn already. */
const MARGIN = 4;
const PAGE = 10;

export class Matrix {
  readonly element: HTMLElement;
  readonly #pairs: Pairs;
  readonly #open: (place: Place) => void;
  readonly #body: HTMLElement;
  readonly #sizer: HTMLElement;
  readonly #rows: HTMLElement;
  readonly #columns: HTMLElement;
  #names: readonly string[] = [];
  /** -1 is the header. */
  #active = { row: 0, column: 0 };
  #chosen: Place = { kind: 'start' };
  #isDue = false;

  constructor(pairs: Pairs, open: (place: Place) => void) {
    this.#pairs = pairs;
    this.#open = open;
    this.#sizer = element('div', { class: 'sizer', role: 'presentation' });
    this.#body = element(
      'div',
      {
        class: 'cells',
        id: 'matrix',
        role: 'grid',
        attributes: {
          tabindex: '0',
          'aria-label': 'Who reaches whom: from the networks of the rows to those of the columns',
        },
      },
      this.#sizer,
    );
    this.#rows = element('div', { class: 'rows', attributes: { 'aria-hidden': 'true' } });
    this.#columns = element('div', { class: 'columns', attributes: { 'aria-hidden': 'true' } });
    const corner = element(
      'div',
      { class: 'corner', attributes: { 'aria-hidden': 'true' } },
      element('span', { class: 'to' }, 'to →'),
      element('span', { class: 'from' }, 'from ↓'),
    );
    this.element = element(
      'div',
      { class: 'matrix' },
      corner,
      this.#columns,
      this.#rows,
      this.#body,
    );
    this.#body.addEventListener('scroll', () => this.#soon());
    this.#body.addEventListener('keydown', (event) => this.#onKey(event));
    this.#body.addEventListener('click', (event) => this.#onClick(event));
    this.#rows.addEventListener('click', ({ clientY }) =>
      this.#openNetwork(this.#names[this.#indexAt(clientY, 'top')] ?? OUTSIDE),
    );
    this.#columns.addEventListener('click', ({ clientX }) =>
      this.#openNetwork(this.#names[this.#indexAt(clientX, 'left')] ?? OUTSIDE),
    );
    new ResizeObserver(() => this.#soon()).observe(this.#body);
  }

  /** Shows these networks, in this order. */
  show(names: readonly string[]): void {
    this.#names = names;
    const size = `${names.length * CELL}px`;
    this.#sizer.style.width = size;
    this.#sizer.style.height = size;
    this.#body.setAttribute('aria-rowcount', String(names.length));
    this.#body.setAttribute('aria-colcount', String(names.length));
    this.#active = {
      row: Math.min(this.#active.row, names.length - 1),
      column: Math.min(this.#active.column, names.length - 1),
    };
    this.#draw();
  }

  /** Marks what is shown beside the matrix. */
  choose(place: Place): void {
    this.#chosen = place;
    this.#draw();
  }

  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  #draw(): void {
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.#body;
    const rows = this.#inSight(scrollTop, clientHeight);
    const columns = this.#inSight(scrollLeft, clientWidth);
    this.#columns.replaceChildren(
      ...columns.map((column) => this.#header('column', column, column * CELL - scrollLeft)),
    );
    this.#rows.replaceChildren(
      ...rows.map((row) => this.#header('row', row, row * CELL - scrollTop)),
    );
    this.#sizer.replaceChildren(
      ...rows.map((row) => {
        const line = element('div', {
          class: 'line',
          role: 'row',
          attributes: { 'aria-rowindex': String(row + 1) },
        });
        line.style.top = `${row * CELL}px`;
        line.append(...columns.map((column) => this.#cell(row, column)));
        return line;
      }),
    );
    const { row, column } = this.#active;
    if (row >= 0 && column >= 0)
      this.#body.setAttribute('aria-activedescendant', idOf(row, column));
    else this.#body.removeAttribute('aria-activedescendant');
  }

  #inSight(from: number, length: number): readonly number[] {
    const first = Math.max(0, Math.floor(from / CELL) - MARGIN);
    const end = Math.min(this.#names.length, Math.ceil((from + length) / CELL) + MARGIN);
    return Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
  }

  #header(axis: 'row' | 'column', index: number, at: number): HTMLElement {
    const name = this.#names[index] ?? '';
    const isActive = this.#active[axis] === index;
    const chosen = this.#chosen;
    const isChosen =
      (chosen.kind === 'network' && chosen.name === name) ||
      (chosen.kind === 'pair' && (axis === 'row' ? chosen.from : chosen.to) === name);
    const header = element(
      'div',
      {
        class: ['name', ...(isActive ? ['active'] : []), ...(isChosen ? ['chosen'] : [])].join(' '),
        title: name,
        attributes: { 'data-index': String(index) },
      },
      element('span', {}, name),
    );
    if (axis === 'row') header.style.top = `${at}px`;
    else header.style.left = `${at}px`;
    return header;
  }

  #cell(row: number, column: number): HTMLElement {
    const [from = '', to = ''] = [this.#names[row], this.#names[column]];
    const { look, sign, words } = lookOf(this.#pairs.pair(from, to));
    const isActive = this.#active.row === row && this.#active.column === column;
    const chosen = this.#chosen;
    const isChosen = chosen.kind === 'pair' && chosen.from === from && chosen.to === to;
    const cell = element(
      'div',
      {
        class: [
          'cell',
          look,
          ...(isActive ? ['active'] : []),
          ...(isChosen ? ['chosen'] : []),
        ].join(' '),
        id: idOf(row, column),
        role: 'gridcell',
        title: words,
        attributes: {
          'aria-label': words,
          'aria-colindex': String(column + 1),
        },
      },
      sign,
    );
    cell.style.left = `${column * CELL}px`;
    return cell;
  }

  /** By where it is: what was pressed may have been drawn anew until it is let go. */
  #onClick({ clientX, clientY }: MouseEvent): void {
    const row = this.#indexAt(clientY, 'top');
    const column = this.#indexAt(clientX, 'left');
    if (Math.max(row, column) >= this.#names.length) return;
    this.#active = { row, column };
    this.#openActive();
  }

  #indexAt(pixel: number, edge: 'top' | 'left'): number {
    return Math.floor((pixel - this.#sizer.getBoundingClientRect()[edge]) / CELL);
  }

  #openActive(): void {
    const { row, column } = this.#active;
    const [from, to] = [this.#names[row], this.#names[column]];
    if (from === undefined && to === undefined) return;
    if (from === undefined || to === undefined || from === to) this.#openNetwork(from ?? to ?? '');
    else this.#open({ kind: 'pair', from, to });
  }

  #openNetwork(name: string): void {
    if (name !== OUTSIDE) this.#open({ kind: 'network', name });
  }

  #onKey(event: KeyboardEvent): void {
    const last = this.#names.length - 1;
    const { row, column } = this.#active;
    const moved = ((): { row: number; column: number } | undefined => {
      switch (event.key) {
        case 'ArrowUp':
          return { row: row - 1, column };
        case 'ArrowDown':
          return { row: row + 1, column };
        case 'ArrowLeft':
          return { row, column: column - 1 };
        case 'ArrowRight':
          return { row, column: column + 1 };
        case 'PageUp':
          return { row: row - PAGE, column };
        case 'PageDown':
          return { row: row + PAGE, column };
        case 'Home':
          return { row: event.ctrlKey ? 0 : row, column: 0 };
        case 'End':
          return { row: event.ctrlKey ? last : row, column: last };
        default:
          return undefined;
      }
    })();
    if (moved !== undefined) {
      event.preventDefault();
      this.#active = { row: within(moved.row, last), column: within(moved.column, last) };
      this.#reveal();
      this.#draw();
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.#openActive();
    }
  }

  #reveal(): void {
    const { row, column } = this.#active;
    const body = this.#body;
    body.scrollTop = revealed(body.scrollTop, body.clientHeight, row);
    body.scrollLeft = revealed(body.scrollLeft, body.clientWidth, column);
  }
}

const idOf = (row: number, column: number): string => `cell-${row}-${column}`;

/** Up to the last one, and the header before the first. */
const within = (index: number, last: number): number => Math.max(-1, Math.min(index, last));

const revealed = (from: number, length: number, index: number): number =>
  Math.max(Math.min(from, Math.max(index, 0) * CELL), (index + 1) * CELL - length, 0);

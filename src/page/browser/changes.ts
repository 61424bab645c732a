/** What the daemon of the node changed, in time: what it wrote, and what somebody else had changed. */
import { countsText, type NodeChange } from '../../views/node-changes.ts';
import type { PageData } from '../page-data.ts';
import { element } from './dom.ts';
import { heading, list, mark, networkLink, note, section, type Children } from './parts.ts';

type ObjectLink = (object: string) => Node | string;

const timeOf = ({ at }: NodeChange): HTMLElement =>
  element('time', { attributes: { datetime: at } }, `${at.slice(0, 19).replace('T', ' ')} UTC`);

/** One change, in words; drift with its rows, and who had done it. */
export function changeItem(change: NodeChange, objectLink: ObjectLink): Children {
  const { kind, database, objects, more, rows = [], by = [] } = change;
  const named = objects.flatMap(({ object }): Children => [' ', objectLink(object)]);
  const others = more === 0 ? [] : [` and ${more} more`];
  if (kind === 'wrote')
    return [timeOf(change), ` ${database} ${countsText(change)}`, ...named, ...others];
  return [
    timeOf(change),
    ' ',
    element('span', { class: 'mark bad' }, '✗ drift'),
    ` ${database}, by ${by.length === 0 ? 'somebody else' : by.join(', ')}, put right`,
    ...named,
    ...others,
    element('ul', {}, ...rows.map((row) => element('li', {}, element('code', {}, row)))),
  ];
}

/** All of them, and what is to be changed now. */
export function changesPanel(
  { changes, plan, node }: PageData,
  objectLink: ObjectLink,
): readonly Node[] {
  if (changes === undefined)
    return [
      heading(`Changes on ${node}`),
      note('No daemon was asked: what it did is not known here.'),
    ];
  const items = (kind: NodeChange['kind']): Node =>
    list(
      changes.changes
        .filter((change) => change.kind === kind)
        .map((change) => changeItem(change, objectLink)),
    );
  return [
    heading(`Changes on ${changes.node}`),
    ...(plan === undefined
      ? [note('What is to be changed now is not known.')]
      : plan.rows === 0
        ? [mark('good', 'Now: nothing is to be changed.')]
        : [
            mark('allowed', `Now: ${plan.rows} rows are to be changed.`),
            list(
              plan.networks.map(([name, rows]) =>
                name === '' ? [`for all: ${rows}`] : [networkLink(name), `: ${rows}`],
              ),
            ),
          ]),
    ...section('Drift', items('drift'), `None since ${changes.since}.`),
    ...section('Written', items('wrote'), `Nothing since ${changes.since}.`),
    ...(changes.count > changes.changes.length
      ? [note(`${changes.count - changes.changes.length} older ones are not kept.`)]
      : []),
  ];
}

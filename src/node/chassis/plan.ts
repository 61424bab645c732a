/** What of `external_ids` changes so that ovn-controller finds its settings, and what stays because somebody else set it. Pure. */
import { formatValue } from '../../api/validation/field-errors.ts';
import { clipped } from '../../api/visible-text.ts';
import { MARK, SOUTHBOUND_REMOTE, type ChassisSetting } from './settings.ts';

export type ExternalIds = ReadonlyMap<string, string>;

export interface ChassisChange {
  readonly key: string;
  /** Undefined: the key goes. */
  readonly value: string | undefined;
  /** Whether it is known as ours from then on. */
  readonly isOurs: boolean;
}

export interface ChassisPlan {
  readonly changes: readonly ChassisChange[];
  /** Values of others that keep networks from working, or from what Heddle was told to set. */
  readonly problems: readonly string[];
  /** Values of others that are as good. */
  readonly notes: readonly string[];
}

/** `/var/run` is a link to `/run` on every host. */
const samePlace = (remote: string): string => remote.replace(/^unix:\/var\/run\//, 'unix:/run/');

function isSame(key: string, a: string, b: string): boolean {
  return a === b || (key === SOUTHBOUND_REMOTE && samePlace(a) === samePlace(b));
}

/** Present, and not with the value that Heddle set last. */
const isOfOthers = (ids: ExternalIds, key: string): boolean =>
  ids.has(key) && ids.get(`${MARK}${key}`) !== ids.get(key);

const named = (key: string, found: string): string =>
  `external_ids:${key} of the local Open_vSwitch database is ${formatValue(found)}, which Heddle did not set, so it stays`;

const removal = (key: string): string =>
  `ovs-vsctl remove Open_vSwitch . external_ids ${key} leaves it to Heddle`;

/** That ovn-controller was told to follow another Southbound database than ours, with what to do; undefined where it was not. */
export function otherSouthbound(
  ids: ExternalIds,
  southbound: string | undefined,
): string | undefined {
  const found = ids.get(SOUTHBOUND_REMOTE);
  if (southbound === undefined || found === undefined) return undefined;
  if (isSame(SOUTHBOUND_REMOTE, found, southbound)) return undefined;
  return `external_ids:${SOUTHBOUND_REMOTE} of the local Open_vSwitch database is ${formatValue(found)}, and ours (--sb) ${formatValue(southbound)}: if that is another database, ${removal(SOUTHBOUND_REMOTE)}`;
}

/** `takesOver`: what an ovn-kubernetes left does not count as a setting of the administrator. */
export function chassisPlan(
  ids: ExternalIds,
  settings: readonly ChassisSetting[],
  { takesOver = false }: { readonly takesOver?: boolean } = {},
): ChassisPlan {
  const changes: ChassisChange[] = [];
  const problems: string[] = [];
  const notes: string[] = [];
  for (const setting of settings) {
    const { key, value } = setting;
    const found = ids.get(key);
    const isLeft = takesOver && found !== undefined && found === setting.ofReference;
    if (found !== undefined && isOfOthers(ids, key) && !isLeft) {
      // What somebody set over ours is somebody's.
      if (ids.has(`${MARK}${key}`)) changes.push({ key, value: found, isOurs: false });
      if (setting.works?.(found) === false)
        problems.push(
          `${named(key, found)}: with it there are ${setting.otherwise}; ${removal(key)}`,
        );
      else if (value !== undefined && !isSame(key, found, value) && setting.works === undefined) {
        const text = `${named(key, found)}; Heddle would set ${formatValue(value)}`;
        if (setting.isGiven === true)
          problems.push(`${text} by ${setting.option}: make them the same, or ${removal(key)}`);
        else if (setting.isOfNoInterest !== true)
          notes.push(setting.option === undefined ? text : `${text} (${setting.option})`);
      }
    } else if (value !== undefined && found !== value) changes.push({ key, value, isOurs: true });
  }
  const wanted = new Set(settings.map(({ key }) => key));
  return { changes: [...changes, ...removals(ids, (key) => !wanted.has(key))], problems, notes };
}

/** Takes back what Heddle set, and what others changed since stays. */
export function removals(
  ids: ExternalIds,
  isUnwanted: (key: string) => boolean = () => true,
): readonly ChassisChange[] {
  return [...ids.keys()].flatMap((mark): readonly ChassisChange[] => {
    const key = mark.startsWith(MARK) ? mark.slice(MARK.length) : undefined;
    if (key === undefined || !isUnwanted(key)) return [];
    return [{ key, value: isOfOthers(ids, key) ? ids.get(key) : undefined, isOurs: false }];
  });
}

/** Characters of a key that people are shown: whoever writes there can make it as long as he likes. */
const LONGEST_KEY = 200;

/** Changes as people read them. */
export function changeText(ids: ExternalIds, { key, value, isOurs }: ChassisChange): string {
  const name = `external_ids:${clipped(key, LONGEST_KEY)}`;
  if (value === undefined) return `remove ${name}`;
  if (!isOurs) return `${name} is no longer Heddle's`;
  const before = ids.has(key) ? ` (was ${formatValue(ids.get(key))})` : '';
  return `set ${name} to ${formatValue(value)}${before}`;
}

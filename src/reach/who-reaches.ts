/** Everybody who may send something to a pod. Pure. */
import type { MemberClass } from './member-classes.ts';
import type { Member } from './members.ts';
import { ReachLines, type ReachLine } from './reach-lines.ts';
import type { ReachWorld } from './reach-world.ts';

/** One network of the pod. */
export interface Reached {
  readonly network: string;
  readonly role: Member['role'];
  readonly by: readonly ReachLine[];
  /** Policies that decide who is let in: `NetworkPolicy blue/only-web`. */
  readonly policies: readonly string[];
}

/** On each of its networks; none for a pod that is on none. `pod` is `namespace/name`. */
export function whoReaches(world: ReachWorld, pod: string): readonly Reached[] {
  const classes = new Map<MemberClass, Member[]>();
  for (const member of world.members) {
    const own = world.classOf(member);
    const known = classes.get(own);
    if (known === undefined) classes.set(own, [member]);
    else known.push(member);
  }
  return world.members
    .filter((member) => member.pod === pod)
    .map((member) => {
      const own = world.classOf(member);
      const lines = new ReachLines();
      for (const [other, members] of classes)
        lines.add(members, [member], world.passages(other, own));
      const { network, role } = member;
      return { network, role, by: lines.lines(), policies: world.policiesOf(own, 'Ingress') };
    });
}

/** What an element is to be. Attributes that are false or undefined are not there; functions are listeners: onclick, onkeydown. */
export interface Props {
  /** Tells children of a list apart. */
  key?: string;
  /** Is given the element once it is in the page; what it returns is called when the element goes. */
  ref?: (element: HTMLElement) => (() => void) | void;
  /** A property: that of the attribute stays as it was at first. */
  value?: string;
  [name: string]: unknown;
}

/** An element as it is to be. */
export interface Plan {
  tag: string;
  props: Props;
  children: Child[];
}

/** What an element may contain; what is false is not there, and keeps its place for when it is. */
export type Child = Plan | Plan[] | string | false | undefined;

/** Plans an element. */
export function h(tag: string, props: Props, ...children: Child[]): Plan {
  return { tag, props, children };
}

interface Live {
  key: string;
  node: Node;
  props: Props;
  children: Live[];
  cleanup?: (() => void) | void;
}

const svg = ["svg", "path"];

/**
 * Makes what is in a root what it is planned to be, and touches nothing that is so already: the focus, what is selected and
 * how far it is scrolled stay. It builds node by node, so no policy of a page has anything against it.
 */
export class View {
  private live: Live[] = [];
  private fresh: Live[] = [];

  constructor(private readonly root: Node) {}

  render(...children: Child[]): void {
    this.live = this.list(this.root, this.live, children);
    for (const live of this.fresh.splice(0)) {
      live.cleanup = live.props.ref?.(live.node as HTMLElement);
    }
  }

  private list(parent: Node, old: Live[], children: Child[]): Live[] {
    const rest = new Map(old.map((live) => [live.key, live]));
    const now = flat(children).map(([key, child]) => {
      const live = rest.get(key) ?? this.create(key, child);
      rest.delete(key);
      this.patch(live, child);
      return live;
    });
    for (const live of rest.values()) {
      release(live);
      parent.removeChild(live.node);
    }
    let at = parent.firstChild;
    for (const { node } of now) {
      if (node === at) {
        at = at.nextSibling;
      } else {
        parent.insertBefore(node, at); // the others are not moved, so they keep the focus
      }
    }
    return now;
  }

  private create(key: string, child: Plan | string): Live {
    if (typeof child === "string") {
      return { key, node: document.createTextNode(""), props: {}, children: [] };
    }
    const { tag } = child;
    const node = svg.includes(tag)
      ? document.createElementNS("http://www.w3.org/2000/svg", tag)
      : document.createElement(tag);
    const live: Live = { key, node, props: {}, children: [] };
    if (child.props.ref) {
      this.fresh.push(live);
    }
    return live;
  }

  private patch(live: Live, child: Plan | string): void {
    if (typeof child === "string") {
      const text = live.node as Text;
      if (text.data !== child) {
        text.data = child;
      }
      return;
    }
    const element = live.node as HTMLElement;
    const { props } = child;
    for (const name of Object.keys({ ...live.props, ...props })) {
      if (live.props[name] !== props[name]) {
        set(element, name, live.props[name], props[name]);
      }
    }
    live.props = props;
    live.children = this.list(element, live.children, child.children);
    if (props.value !== undefined) {
      (element as HTMLSelectElement).value = props.value; // after the options
    }
  }
}

/** Tells an element and all in it that they go. */
function release(live: Live): void {
  live.cleanup?.();
  live.children.forEach(release);
}

/** Each child with a key: its own, or its place among its siblings. */
function flat(children: Child[]): [key: string, child: Plan | string][] {
  return children.flatMap((child, place): [string, Plan | string][] => {
    if (child === false || child === undefined) {
      return [];
    }
    if (typeof child === "string") {
      return [[`${place}`, child]];
    }
    const plans = Array.isArray(child) ? child : [child];
    return plans.map((plan) => [`${place}${plan.tag}${plan.props.key ?? ""}`, plan]);
  });
}

function set(element: Element, name: string, old: unknown, value: unknown): void {
  if (name.startsWith("on")) {
    const type = name.slice(2);
    if (old) {
      element.removeEventListener(type, old as EventListener);
    }
    if (value) {
      element.addEventListener(type, value as EventListener);
    }
  } else if (value === false || value === undefined) {
    element.removeAttribute(name);
  } else if (!["key", "ref"].includes(name)) {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

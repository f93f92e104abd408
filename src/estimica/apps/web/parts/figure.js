// A Plotly figure in the theme of the page, given as data or fetched from `src` when it comes near.
export default {
  template: '<div class="est-figure" role="img" :aria-label="label"></div>',
  props: { figure: Object, src: String, label: { type: String, default: "figure" } },
  mounted() {
    this.again = () => this.show();
    document.addEventListener("est-theme", this.again);
    this.watcher = new IntersectionObserver((entries) => {
      if (entries.some((e) => e.isIntersecting)) { this.near = true; this.show(); }
    }, { rootMargin: "1000px" });
    this.watcher.observe(this.$el);
  },
  updated() { this.loaded = null; this.show(); },
  unmounted() {
    document.removeEventListener("est-theme", this.again);
    this.watcher.disconnect();
    if (window.Plotly) window.Plotly.purge(this.$el);
  },
  methods: {
    async show() {
      if (!this.near) return;
      try {
        if (this.src && !this.loaded) {
          const answer = await fetch(this.src);
          if (!answer.ok) throw new Error(await answer.text());
          this.loaded = await answer.json();
        }
        const figure = this.src ? this.loaded : this.figure;
        if (figure) {
          if (figure.layout && figure.layout.height) this.$el.style.height = figure.layout.height + "px";
          await window.estimica.draw(this.$el, figure);
          this.$el.dataset.drawn = "1";
        }
      } catch (error) {
        this.$el.textContent = "This figure could not be drawn: " + error.message;
      }
    },
  },
};
